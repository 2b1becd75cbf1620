// Random numbers by counter: Philox 2x32 with 10 rounds, keyed by the launch's seed, counted by
// thread and draw. The same stream on every target; `transpiler/backend/module/random_stream.py` is
// the same in Python.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Chunks are separated
// by blank lines.

struct Random {
    uint seed, index, draws;
};

// seed: of the launch and task; index: of the thread.
Random random_start(uint seed, uint index) {
    return Random(seed, index, 0u);
}

// The next 64 random bits.
uvec2 random_bits(inout Random rng) {
    uint x = rng.draws++;
    uint y = rng.index;
    uint key = rng.seed;
    for (int i = 0; i < 10; i++) {
        uint high;
        uint low;
        umulExtended(x, 0xD256D193u, high, low);
        x = high ^ key ^ y;
        y = low;
        key += 0x9E3779B9u;
    }
    return uvec2(x, y);
}

// Uniform in [0, 1), a multiple of 2^-24.
float random_f32(inout Random rng) {
    return float(random_bits(rng).x >> 8) * 5.9604644775390625e-08;
}

// Uniform in [0, 1), a multiple of 2^-53.
double random_f64(inout Random rng) {
    uvec2 bits = random_bits(rng);
    return (double(bits.x >> 5) * 67108864.0lf + double(bits.y >> 6)) * 1.1102230246251565e-16lf;
}

float16_t random_f16(inout Random rng) {
    return float16_t(float(random_bits(rng).x >> 21) * 0.00048828125);
}

bool random_u1(inout Random rng) {
    return (random_bits(rng).x >> 31) != 0u;
}

uint random_u32(inout Random rng) {
    return random_bits(rng).x;
}

int random_i32(inout Random rng) {
    return int(random_bits(rng).x);
}

uint8_t random_u8(inout Random rng) {
    return uint8_t(random_bits(rng).x);
}

int8_t random_i8(inout Random rng) {
    return int8_t(random_bits(rng).x);
}

uint16_t random_u16(inout Random rng) {
    return uint16_t(random_bits(rng).x);
}

int16_t random_i16(inout Random rng) {
    return int16_t(random_bits(rng).x);
}

uint64_t random_u64(inout Random rng) {
    uvec2 bits = random_bits(rng);
    return packUint2x32(bits.yx);
}

int64_t random_i64(inout Random rng) {
    return int64_t(random_u64(rng));
}
