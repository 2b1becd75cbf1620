// Random bits; `c_family/lib/random.h` describes the generator. Chunks are separated by blank
// lines.

#include "dialect.cuh"

struct Random {
    uint32_t seed, index, draws;
};

struct RandomBits {
    uint32_t x, y;
};

// seed: of the launch and task; index: of the thread.
__device__ inline Random random_start(uint32_t seed, uint32_t index) {
    return Random{seed, index, 0u};
}

// The next 64 random bits.
__device__ inline RandomBits random_bits(Random &rng) {
    uint32_t x = rng.draws++;
    uint32_t y = rng.index;
    uint32_t key = rng.seed;
    for (int i = 0; i < 10; i++) {
        uint32_t high = __umulhi(x, 0xD256D193u);
        uint32_t low = x * 0xD256D193u;
        x = high ^ key ^ y;
        y = low;
        key += 0x9E3779B9u;
    }
    return RandomBits{x, y};
}

#include "../../c_family/lib/random.h"
