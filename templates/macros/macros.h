// What SM_PRINT, SM_ASSERT and SM_TRAP_NAN become in an edited C source. A record: site, thread,
// number of words, then for each value a word with its type, rows and bytes, and its bytes.
// `c_family/lib/reports.h` describes the buffer.

#define SM_REPORT ((unsigned *)@ADDRESS@ull)

// The type of a value by the numbers of `macro_records.py`, and its rows in bits 8 to 15.
#ifdef __FLT16_MAX__
#define SM_HALF _Float16: 10u,
#else
#define SM_HALF
#endif
#define SM_TYPE(...) _Generic((__VA_ARGS__), SM_HALF @STRUCTS@ \
    _Bool: 1u, char: 2u, signed char: 2u, unsigned char: 3u, short: 4u, unsigned short: 5u, \
    int: 6u, unsigned: 7u, long: sizeof(long) == 8 ? 8u : 6u, unsigned long: sizeof(long) == 8 ? 9u : 7u, \
    long long: 8u, unsigned long long: 9u, float: 11u, double: 12u)
#define SM_SIZE(...) (1u + ((unsigned)sizeof((__VA_ARGS__)) + 3u) / 4u)

// Start a record of `size` words in a section of the buffer; returns its first word, 0 if there is no space.
__attribute__((unused)) static unsigned *sm_start(unsigned section, unsigned site, unsigned thread, unsigned size) {
    unsigned *report = SM_REPORT, end = report[section + 1];
    if (__atomic_load_n(&report[section], __ATOMIC_RELAXED) < end) {
        unsigned start = __atomic_fetch_add(&report[section], 3 + size, __ATOMIC_RELAXED);
        if (start + 3 + size <= end) {
            report[start] = site;
            report[start + 1] = thread;
            report[start + 2] = size;
            return &report[start + 3];
        }
        if (start < end)
            report[start] = 0xffffffffu;
    }
    __atomic_fetch_add(&report[section + 2], 1, __ATOMIC_RELAXED);
    return 0;
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
__attribute__((unused)) static unsigned *sm_fail(unsigned site, unsigned thread, unsigned size) {
    unsigned *report = SM_REPORT, old = __atomic_load_n(&report[7], __ATOMIC_RELAXED);
    __atomic_fetch_add(&report[6], 1, __ATOMIC_RELAXED);
    while (thread < old)
        if (__atomic_compare_exchange_n(&report[7], &old, thread, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return sm_start(3, site, thread, size);
    return 0;
}

// Write a value, whose type is `type`, at `at`; returns where the next one goes.
__attribute__((unused)) static unsigned *sm_value(unsigned *at, unsigned type, const void *value, unsigned size) {
    if (!at)
        return 0;
    at[size / 4] = 0;
    *at = type | size << 16;
    __builtin_memcpy(at + 1, value, size);
    return at + 1 + (size + 3) / 4;
}
#define SM_PUT(...) \
    do { \
        __typeof__((__VA_ARGS__)) sm_put = (__VA_ARGS__); \
        sm_at = sm_value(sm_at, SM_TYPE(__VA_ARGS__), (const void *)&sm_put, sizeof sm_put); \
    } while (0)

// Return whether a value has a NaN, by its bits: compilers take `x != x` for false where no NaN is expected.
__attribute__((unused)) static int sm_is_nan(const void *value, unsigned type, unsigned size) {
    const unsigned char *bytes = (const unsigned char *)value;
    unsigned width = (type & 255) == 12 ? 8 : (type & 255) == 11 ? 4 : (type & 255) == 10 ? 2 : 0;
    for (unsigned k = 0; width && k < size; k += width) {
        unsigned long long bits = 0, infinity = width == 8 ? 0x7ffull << 52 : width == 4 ? 0x7f800000u : 0x7c00u;
        __builtin_memcpy(&bits, bytes + k, width);
        if ((bits & ~(1ull << (8 * width - 1))) > infinity)
            return 1;
    }
    return 0;
}
