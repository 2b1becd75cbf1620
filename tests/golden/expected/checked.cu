// shadesmith 0.1.0, cuda 902e5901, checked.py:4: checked(a: ndarray[f32, 2], n: i32, k: u32)

#define BLOCK 128

typedef unsigned int uint32_t;

__device__ inline bool add_overflows_i32(int a, int b) {
    int sum = (int)((uint32_t)a + (uint32_t)b);
    return ((a ^ sum) & (b ^ sum)) < 0;
}

// In place of the site of a record: no records follow.
#define EMPTY_SITE 0xffffffffu

// Start a record of `size` words in the section with its header at words[section]; returns the
// index of its first word, or 0 if the section is full.
__device__ inline uint32_t report_start(
    uint32_t *report, uint32_t section, uint32_t site, uint32_t thread, uint32_t size
) {
    uint32_t end = report[section + 1u];
    if (*(volatile uint32_t *)&report[section] < end) {
        uint32_t start = atomicAdd(&report[section], 3u + size);
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
    atomicAdd(&report[section + 2u], 1u);
    return 0u;
}

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
__device__ inline uint32_t report_failure(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    atomicAdd(&report[6], 1u);
    atomicMin(&report[8], site);
    return thread < atomicMin(&report[7], thread) ? report_start(report, 3u, site, thread, size)
                                                   : 0u;
}

// Return whether a check failed in a task before the one whose first site is `site`.
__device__ inline bool report_stopped(const uint32_t *report, uint32_t site) {
    return *(const volatile uint32_t *)&report[8] < site;
}

// Write one word; returns the index of the next.
__device__ inline uint32_t report_u32(uint32_t *report, uint32_t cursor, uint32_t value) {
    if (cursor == 0u) {
        return 0u;
    }
    report[cursor] = value;
    return cursor + 1u;
}

__device__ inline uint32_t report_i32(uint32_t *report, uint32_t cursor, int value) {
    return report_u32(report, cursor, (uint32_t)value);
}

__device__ inline uint32_t report_f32(uint32_t *report, uint32_t cursor, float value) {
    return report_u32(report, cursor, __float_as_uint(value));
}

// Return whether an index is out of range; if so, record all indices and extents.
__device__ inline bool outside_1(uint32_t *report, uint32_t site, uint32_t thread, int i, int n) {
    if (i >= 0 && i < n) {
        return false;
    }
    uint32_t record = report_failure(report, site, thread, 2u);
    record = report_i32(report, record, i);
    report_i32(report, record, n);
    return true;
}

__device__ inline bool outside_2(
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

using ivec3 = int3;

__device__ inline int at(ivec3 a, int index) { return index == 0 ? a.x : index == 1 ? a.y : a.z; }
__device__ inline int sum(ivec3 a) { return unsigned(a.x) + unsigned(a.y) + unsigned(a.z); }

__device__ inline bool sum_overflows(ivec3 a) {
    int sum = 0;
    for (int i = 0; i < 3; i++) {
        if (add_overflows_i32(sum, at(a, i))) {
            return true;
        }
        sum += at(a, i);
    }
    return false;
}

struct Temporaries {
    float first;  // f32
};

struct Args {
    float *__restrict__ a_data;  // a: ndarray[f32, 2]
    Temporaries *temporaries;    // values that cross tasks
    uint32_t *report;            // records of print and of checks
    int n;                       // n: i32
    uint32_t k;                  // k: u32
    int a_n0;                    // a.shape[0]
    int a_n1;                    // a.shape[1]
};

#define a(i, j) args.a_data[(long long)(i) * args.a_n1 + (j)]

// task 0 of 2: serial
extern "C" __global__ void checked_0(const Args args) {
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

// task 1 of 2: range_for over i
// checked.py:6  for i in range(n):
__device__ inline void task_1(const Args &args, int i, uint32_t index) {
    // checked.py:5  first = a[n, n + 1]
    float first = args.temporaries->first;
    // checked.py:7  v = ti.Vector([1, 2, i])
    ivec3 v = {1, 2, i};
    // checked.py:8  a[i, v[i]] += first
    if (outside_1(args.report, 2u, index, i, 3)) return;
    if (outside_2(args.report, 3u, index, i, at(v, i), args.a_n0, args.a_n1)) return;
    atomicAdd(&a(i, at(v, i)), first);
    // checked.py:9  a[0, k] = v.sum() + n
    if (sum_overflows(v)) {
        uint32_t record = report_failure(args.report, 4u, index, 3u);
        record = report_i32(args.report, record, v.x);
        record = report_i32(args.report, record, v.y);
        report_i32(args.report, record, v.z);
        return;
    }
    int sum_v = sum(v);
    if (add_overflows_i32(sum_v, args.n)) {
        uint32_t record = report_failure(args.report, 5u, index, 2u);
        record = report_i32(args.report, record, sum_v);
        report_i32(args.report, record, args.n);
        return;
    }
    if (0 >= args.a_n0 || args.k >= unsigned(args.a_n1)) {
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

extern "C" __global__ void __launch_bounds__(BLOCK) checked_1(const Args args) {
    if (report_stopped(args.report, 2u)) return;
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(max(args.n, 0));
        index += gridDim.x * BLOCK) {
        task_1(args, int(index), index);
    }
}
