// Random bits; `c_family/lib/random.h` describes the generator. Chunks are separated by blank
// lines.

#include "dialect.h"

typedef struct {
    uint32_t seed, index, draws;
} Random;

typedef struct {
    uint32_t x, y;
} RandomBits;

// seed: of the launch and task; index: of the thread.
static inline Random random_start(uint32_t seed, uint32_t index) {
    return (Random){seed, index, 0u};
}

// The next 64 random bits.
static inline RandomBits random_bits(Random *rng) {
    uint32_t x = rng->draws++;
    uint32_t y = rng->index;
    uint32_t key = rng->seed;
    for (int i = 0; i < 10; i++) {
        uint64_t product = (uint64_t)x * 0xD256D193u;
        x = (uint32_t)(product >> 32) ^ key ^ y;
        y = (uint32_t)product;
        key += 0x9E3779B9u;
    }
    return (RandomBits){x, y};
}

#include "../../c_family/lib/random.h"
