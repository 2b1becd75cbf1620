// shadesmith 0.1.0, c fb25305f, report.py:4: report(a: ndarray[f32, 1])
#include <stdint.h>

static inline uint32_t f32_bits_to_u32(float x) {
    union { float number; uint32_t bits; } both = {x};
    return both.bits;
}

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
static inline uint32_t report_start(
    uint32_t *report, uint32_t section, uint32_t site, uint32_t thread, uint32_t size
) {
    uint32_t end = report[section + 1u];
    if (__atomic_load_n(&report[section], __ATOMIC_RELAXED) < end) {
        uint32_t start = __atomic_fetch_add(&report[section], 3u + size, __ATOMIC_RELAXED);
        if (start + 3u + size <= end) {
            report[start] = site;
            report[start + 1u] = thread;
            report[start + 2u] = size;
            return start + 3u;
        }
        if (start < end) {
            report[start] = EMPTY_SITE;
        }
    }
    __atomic_fetch_add(&report[section + 2u], 1u, __ATOMIC_RELAXED);
    return 0u;
}

static inline uint32_t report_print(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    return report_start(report, 0u, site, thread, size);
}

// Write one word; returns the index of the next.
static inline uint32_t report_u32(uint32_t *report, uint32_t cursor, uint32_t value) {
    if (cursor == 0u) {
        return 0u;
    }
    report[cursor] = value;
    return cursor + 1u;
}

static inline uint32_t report_i32(uint32_t *report, uint32_t cursor, int value) {
    return report_u32(report, cursor, (uint32_t)value);
}

static inline uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, f32_bits_to_u32(value));
}

struct Args {
    const float *restrict a_data;  // a: ndarray[f32, 1]
    uint32_t *report;              // records of print and of checks
    int a_n;                       // a.shape[0]
};

#define a(i) args.a_data[i]

// report.py:5  for i in a:
static inline void task(const struct Args args, int i, uint32_t index) {
    if (a(i) < 0.0f) {  // :6
        // report.py:7  print("negative:", i, a[i])
        uint32_t record = report_print(args.report, 0u, index, 2u);
        record = report_i32(args.report, record, i);
        report_f32(args.report, record, a(i));
    }
}

void report_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int i = 0; i < args.a_n; i++) {
        task(args, i, (uint32_t)i);
    }
}
