// shadesmith 0.1.0, c 40567de3, proven.py:7: proven(a: ndarray[f32, 1], value: f32)
#include <stdbool.h>
#include <stdint.h>

enum { rows_n1 = 4 };  // shape of rows

static inline int max_i32(int a, int b) { return a > b ? a : b; }

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
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

// Return whether a check failed in a task before the one whose first site is `site`.
static inline bool report_stopped(const uint32_t *report, uint32_t site) {
    return __atomic_load_n(&report[8], __ATOMIC_RELAXED) < site;
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

static inline bool outside_2(
    uint32_t *report, uint32_t site, uint32_t thread, int i, int j, int ni, int nj
) {
    if (i >= 0 && i < ni && j >= 0 && j < nj) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 4u);
    record = report_i32(report, record, i);
    record = report_i32(report, record, j);
    record = report_i32(report, record, ni);
    report_i32(report, record, nj);
    return true;
}

typedef struct { float x, y, z; } vec3;

static inline float vec3_at(vec3 a, int index) { return index == 0 ? a.x : index == 1 ? a.y : a.z; }

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = old + value;
    } while (!__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true, relaxed,
        relaxed));
    return old;
}

struct Args {
    float *restrict a_data;     // a: ndarray[f32, 1]
    float *restrict rows_data;  // rows: field[f32, 8x4]
    uint32_t *report;           // records of print and of checks
    float value;                // value: f32
    int a_n;                    // a.shape[0]
};

#define a(i) args.a_data[i]
#define rows(i, j) args.rows_data[(long long)(i) * rows_n1 + (j)]

// task 0 of 2: range_for over i
// proven.py:8  for i in range(32):
static inline void task_0(const struct Args args, int i, uint32_t index) {
    // proven.py:9  v = ti.Vector([value, 2 * value, 3 * value])
    vec3 v = {args.value, 2.0f * args.value, 3.0f * args.value};
    // proven.py:10  rows[i // 4, i % 4] += v[i % 3]
    atomic_add_f32(&rows(i >> 2, i & 3), vec3_at(v, i % 3));
    // proven.py:11  rows[i // 4 + 1, 0] = value
    int sum = (i >> 2) + 1;
    if (outside_2(args.report, 0u, index, sum, 0, 8, 4)) return;
    rows(sum, 0) = args.value;
}

void proven_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 32; i++) {
        task_0(args, i, (uint32_t)i);
    }
}

// task 1 of 2: range_for over a
// proven.py:12  for k in range(a.shape[0]):
static inline void task_1(const struct Args args, int k) {
    // proven.py:13  a[k] += a[(k + 1) % a.shape[0]] + a[max(k - 1, 0)]
    // not atomic: no other iteration writes it (demote_atomics)
    a(k) += a((k + 1) % args.a_n) + a(max_i32(k - 1, 0));
}

void proven_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    if (report_stopped(args.report, 1u)) return;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.a_n >= 8192)
    for (int k = 0; k < args.a_n; k++) {
        task_1(args, k);
    }
}
