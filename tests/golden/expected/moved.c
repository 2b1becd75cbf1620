// shadesmith 0.1.0, c 5350aada, moved.py:9: swap(n: i32)
#include <stdbool.h>
#include <stdint.h>

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

// Lower a word to `value`; returns the previous value.
static inline uint32_t report_min(uint32_t *word, uint32_t value) {
    uint32_t old = __atomic_load_n(word, __ATOMIC_RELAXED);
    const int relaxed = __ATOMIC_RELAXED;
    while (value < old && !__atomic_compare_exchange_n(word, &old, value, true, relaxed, relaxed)) {
    }
    return old;
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
static inline uint32_t report_failure(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    __atomic_fetch_add(&report[6], 1u, __ATOMIC_RELAXED);
    report_min(&report[8], site);
    return thread < report_min(&report[7], thread) ? report_start(report, 3u, site, thread, size)
                                                   : 0u;
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

struct Args {
    float *restrict columns_data;  // columns: field[f32, 6x10 from (-3, 2)]
    float *restrict tiles_data;    // tiles: field[f32, 6x10 from (-3, 2)]
    uint32_t *report;              // records of print and of checks
    int n;                         // n: i32
};

#define columns(i, j) args.columns_data[((j) - 2) * 6 + ((i) + 3)]
#define tiles(i, j) \
    args.tiles_data[((unsigned)((i) + 3) / 2 * 5 + (unsigned)((j) - 2) / 2) * 4 \
    + (unsigned)((i) + 3) % 2 * 2 + (unsigned)((j) - 2) % 2]

// task 0 of 2: range_for over columns
// moved.py:10  for i, j in columns:
static inline void task_0(const struct Args args, int i, int j) {
    columns(i, j) = tiles(i, j);  // :11
}

void swap_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int j = 2; j < 12; j++) {
        #pragma omp simd
        for (int i = -3; i < 3; i++) {
            task_0(args, i, j);
        }
    }
}

// task 1 of 2: range_for over tiles
// moved.py:12  for i, j in tiles:
static inline void task_1(const struct Args args, int i, int j, uint32_t index) {
    // moved.py:13  tiles[i, j] = columns[n - i, j]
    if (args.n - i < -3 || args.n - i >= 3 || j < 2 || j >= 12) {
        uint32_t record = report_failure(args.report, 0u, index, 4u);
        record = report_i32(args.report, record, args.n - i);
        record = report_i32(args.report, record, j);
        record = report_i32(args.report, record, 6);
        report_i32(args.report, record, 10);
        return;
    }
    tiles(i, j) = columns(args.n - i, j);
}

void swap_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i_0 = 0; i_0 < 3; i_0++) {
        for (int j_0 = 0; j_0 < 5; j_0++) {
            for (int i_1 = 0; i_1 < 2; i_1++) {
                for (int j_1 = 0; j_1 < 2; j_1++) {
                    task_1(args, -3 + i_0 * 2 + i_1, 2 + j_0 * 2 + j_1,
                        (uint32_t)(((i_0 * 5 + j_0) * 2 + i_1) * 2 + j_1));
                }
            }
        }
    }
}
