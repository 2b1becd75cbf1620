// shadesmith 0.1.0, c 4c09cc4a, pi.py:4: pi(hits: ndarray[i32, 1], tries: i32)
#include <stdint.h>

typedef struct { uint32_t seed, index, draws; } Random;
typedef struct { uint32_t x, y; } RandomBits;

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

// Uniform in [0, 1), a multiple of 2^-24.
static inline float random_f32(Random *rng) {
    return (float)(random_bits(rng).x >> 8) * 5.9604644775390625e-08f;
}

struct Args {
    int *restrict hits_data;  // hits: ndarray[i32, 1]
    int tries;                // tries: i32
    int hits_n;               // hits.shape[0]
    uint32_t seed;            // seed of the random numbers of this launch
};

#define hits(i) args.hits_data[i]

// pi.py:5  for i in hits:
static inline void task(const struct Args args, int i, uint32_t index) {
    Random rng = random_start(args.seed, index);
    // pi.py:6  for _ in range(tries):
    int hits_i = hits(i);
    for (int j = 0; j < args.tries; j++) {
        // pi.py:7  x = ti.random()
        float x = random_f32(&rng);
        // pi.py:8  y = ti.random()
        float y = random_f32(&rng);
        if (x * x + y * y < 1.0f) {  // :9
            // pi.py:10  hits[i] += 1
            hits_i += 1;
        }
    }
    hits(i) = hits_i;  // stored once: no other iteration writes it (keep_elements)
}

void pi_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.hits_n >= 64)
    for (int i = 0; i < args.hits_n; i++) {
        task(args, i, (uint32_t)i);
    }
}
