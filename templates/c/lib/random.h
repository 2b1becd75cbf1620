// Random numbers by counter: Philox 2x32 with 10 rounds, keyed by the launch's seed, counted by thread and draw.
// The same stream on every target; `transpiler/backend/module/random_stream.py` is the same in Python.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Chunks are separated by blank lines.

#include <stdbool.h>
#include <stdint.h>

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

// Uniform in [0, 1), a multiple of 2^-24.
static inline float random_f32(Random *rng) {
    return (float)(random_bits(rng).x >> 8) * 5.9604644775390625e-08f;
}

// Uniform in [0, 1), a multiple of 2^-53.
static inline double random_f64(Random *rng) {
    RandomBits bits = random_bits(rng);
    return ((double)(bits.x >> 5) * 67108864.0 + (double)(bits.y >> 6)) * 1.1102230246251565e-16;
}

static inline _Float16 random_f16(Random *rng) {
    return (_Float16)((float)(random_bits(rng).x >> 21) * 0.00048828125f);
}

static inline bool random_u1(Random *rng) {
    return (random_bits(rng).x >> 31) != 0u;
}

static inline uint32_t random_u32(Random *rng) {
    return random_bits(rng).x;
}

static inline int random_i32(Random *rng) {
    return (int)random_bits(rng).x;
}

static inline uint8_t random_u8(Random *rng) {
    return (uint8_t)random_bits(rng).x;
}

static inline int8_t random_i8(Random *rng) {
    return (int8_t)random_bits(rng).x;
}

static inline uint16_t random_u16(Random *rng) {
    return (uint16_t)random_bits(rng).x;
}

static inline int16_t random_i16(Random *rng) {
    return (int16_t)random_bits(rng).x;
}

static inline uint64_t random_u64(Random *rng) {
    RandomBits bits = random_bits(rng);
    return (uint64_t)bits.x << 32 | bits.y;
}

static inline int64_t random_i64(Random *rng) {
    return (int64_t)random_u64(rng);
}
