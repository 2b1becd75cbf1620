// shadesmith 0.1.0, c f1ebd472, checked.py:4: checked(a: ndarray[f32, 2], n: i32, k: u32)
#include <stdbool.h>
#include <stdint.h>

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

static inline uint32_t f32_bits_to_u32(float x) {
    union { float number; uint32_t bits; } both = {x};
    return both.bits;
}

static inline bool add_overflows_i32(int a, int b) {
    int sum;
    return __builtin_add_overflow(a, b, &sum);
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

static inline uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, f32_bits_to_u32(value));
}

// Return whether an index is out of range; if so, record all indices and extents.
static inline bool outside_1(uint32_t *report, uint32_t site, uint32_t thread, int i, int n) {
    if (i >= 0 && i < n) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 2u);
    record = report_i32(report, record, i);
    report_i32(report, record, n);
    return true;
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

typedef struct { int x, y, z; } ivec3;

static inline int ivec3_at(ivec3 a, int index) { return index == 0 ? a.x : index == 1 ? a.y : a.z; }

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

static inline int ivec3_sum(ivec3 a) { return a.x + a.y + a.z; }

static inline bool ivec3_sum_overflows(ivec3 a) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        if (add_overflows_i32(sum, ivec3_at(a, i))) {
            return true;
        }
        sum += ivec3_at(a, i);
    }
    return false;
}

struct Temporaries {
    float first;  // f32
};

struct Args {
    float *restrict a_data;           // a: ndarray[f32, 2]
    struct Temporaries *temporaries;  // values that cross tasks
    uint32_t *report;                 // records of print and of checks
    int n;                            // n: i32
    uint32_t k;                       // k: u32
    int a_n0;                         // a.shape[0]
    int a_n1;                         // a.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]

// task 0 of 2: serial
static inline void task_0(const struct Args args) {
    // checked.py:5  first = a[n, n + 1]
    if (add_overflows_i32(args.n, 1)) {
        uint32_t record = report_failure(args.report, 0u, 0u, 2u);
        record = report_i32(args.report, record, args.n);
        report_i32(args.report, record, 1);
        return;
    }
    if (outside_2(args.report, 1u, 0u, args.n, args.n + 1, args.a_n0, args.a_n1)) return;
    float first = a(args.n, args.n + 1);
    args.temporaries->first = first;
}

void checked_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_0(args);
}

// task 1 of 2: range_for over i
// checked.py:6  for i in range(n):
static inline void task_1(const struct Args args, int i, uint32_t index) {
    // checked.py:5  first = a[n, n + 1]
    float first = args.temporaries->first;
    // checked.py:7  v = ti.Vector([1, 2, i])
    ivec3 v = {1, 2, i};
    // checked.py:8  a[i, v[i]] += first
    if (outside_1(args.report, 2u, index, i, 3)) return;
    if (outside_2(args.report, 3u, index, i, ivec3_at(v, i), args.a_n0, args.a_n1)) return;
    atomic_add_f32(&a(i, ivec3_at(v, i)), first);
    // checked.py:9  a[0, k] = v.sum() + n
    if (ivec3_sum_overflows(v)) {
        uint32_t record = report_failure(args.report, 4u, index, 3u);
        record = report_i32(args.report, record, v.x);
        record = report_i32(args.report, record, v.y);
        report_i32(args.report, record, v.z);
        return;
    }
    int sum_v = ivec3_sum(v);
    if (add_overflows_i32(sum_v, args.n)) {
        uint32_t record = report_failure(args.report, 5u, index, 2u);
        record = report_i32(args.report, record, sum_v);
        report_i32(args.report, record, args.n);
        return;
    }
    if (0 >= args.a_n0 || args.k >= (unsigned)(args.a_n1)) {
        uint32_t record = report_failure(args.report, 6u, index, 4u);
        record = report_i32(args.report, record, 0);
        record = report_u32(args.report, record, args.k);
        record = report_i32(args.report, record, args.a_n0);
        report_i32(args.report, record, args.a_n1);
        return;
    }
    a(0, (int)args.k) = (float)(sum_v + args.n);
    // checked.py:10  assert a[i, 0] >= 0, f"a[{i}, 0] is {a[i, 0]}"
    if (outside_2(args.report, 7u, index, i, 0, args.a_n0, args.a_n1)) return;
    if (!(a(i, 0) >= 0.0f)) {
        uint32_t record = report_failure(args.report, 8u, index, 2u);
        record = report_i32(args.report, record, i);
        report_f32(args.report, record, a(i, 0));
        return;
    }
}

void checked_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    if (report_stopped(args.report, 2u)) return;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.n >= 8192)
    for (int i = 0; i < args.n; i++) {
        task_1(args, i, (uint32_t)i);
    }
}
