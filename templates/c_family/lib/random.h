// Random numbers by counter: Philox 2x32 with 10 rounds, keyed by the launch's seed, counted by
// thread and draw. The same stream on every target; `transpiler/backend/module/random_stream.py` is
// the same in Python.
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011). Chunks are separated
// by blank lines. Included by the languages' own `random`, after `random_bits`.

// Uniform in [0, 1), a multiple of 2^-24.
FUNCTION float random_f32(Random IN_OUT(rng)) {
    return (float)(random_bits(rng).x >> 8) * 5.9604644775390625e-08f;
}

// Uniform in [0, 1), a multiple of 2^-53.
FUNCTION double random_f64(Random IN_OUT(rng)) {
    RandomBits bits = random_bits(rng);
    return ((double)(bits.x >> 5) * 67108864.0 + (double)(bits.y >> 6)) * 1.1102230246251565e-16;
}

FUNCTION HALF random_f16(Random IN_OUT(rng)) {
    return TO_HALF((float)(random_bits(rng).x >> 21) * 0.00048828125f);
}

FUNCTION bool random_u1(Random IN_OUT(rng)) {
    return (random_bits(rng).x >> 31) != 0u;
}

FUNCTION uint32_t random_u32(Random IN_OUT(rng)) {
    return random_bits(rng).x;
}

FUNCTION int random_i32(Random IN_OUT(rng)) {
    return (int)random_bits(rng).x;
}

FUNCTION uint8_t random_u8(Random IN_OUT(rng)) {
    return (uint8_t)random_bits(rng).x;
}

FUNCTION int8_t random_i8(Random IN_OUT(rng)) {
    return (int8_t)random_bits(rng).x;
}

FUNCTION uint16_t random_u16(Random IN_OUT(rng)) {
    return (uint16_t)random_bits(rng).x;
}

FUNCTION int16_t random_i16(Random IN_OUT(rng)) {
    return (int16_t)random_bits(rng).x;
}

FUNCTION uint64_t random_u64(Random IN_OUT(rng)) {
    RandomBits bits = random_bits(rng);
    return (uint64_t)bits.x << 32 | bits.y;
}

FUNCTION int64_t random_i64(Random IN_OUT(rng)) {
    return (int64_t)random_u64(rng);
}
