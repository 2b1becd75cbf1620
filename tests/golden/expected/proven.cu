// shadesmith 0.1.0, cuda eff22bb3, proven.py:7: proven(a: ndarray[f32, 1], value: f32)

#define BLOCK 128

constexpr int rows_n1 = 4;  // shape of rows

typedef unsigned int uint32_t;

// Python's % for a number from -b to 2 * b - 1, without a division.
__device__ inline int mod_near_i32(int a, int b) { return a < 0 ? a + b : a < b ? a : a - b; }

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

using vec3 = float3;
using vec4 = float4;

__device__ inline vec4 operator+(vec4 a, vec4 b) {
    return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
}

__device__ inline float at(vec3 a, int index) { return index == 0 ? a.x : index == 1 ? a.y : a.z; }

struct Args {
    float *__restrict__ a_data;     // a: ndarray[f32, 1]
    float *__restrict__ rows_data;  // rows: field[f32, 8x4]
    uint32_t *report;               // records of print and of checks
    float value;                    // value: f32
    int a_n;                        // a.shape[0]
};

#define a(i) args.a_data[i]
#define a4(i) (*(vec4 *)&args.a_data[i])
#define rows(i, j) args.rows_data[(i) * rows_n1 + (j)]

// task 0 of 2: range_for over i
// proven.py:8  for i in range(32):
__device__ inline void task_0(const Args &args, int i, uint32_t index) {
    // proven.py:9  v = ti.Vector([value, 2 * value, 3 * value])
    vec3 v = {args.value, 2.0f * args.value, 3.0f * args.value};
    // proven.py:10  rows[i // 4, i % 4] += v[i % 3]
    atomicAdd(&rows(i >> 2, i & 3), at(v, i % 3));
    // proven.py:11  rows[i // 4 + 1, 0] = value
    int sum = (i >> 2) + 1;
    if (outside_2(args.report, 0u, index, sum, 0, 8, 4)) return;
    rows(sum, 0) = args.value;
}

extern "C" __global__ void __launch_bounds__(BLOCK) proven_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < 32) task_0(args, int(index), index);
}

// task 1 of 2: range_for over a
// proven.py:12  for k in range(a.shape[0]):
extern "C" __global__ void __launch_bounds__(BLOCK) proven_1(const Args args) {
    if (report_stopped(args.report, 1u)) return;
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= (unsigned(args.a_n) + 3) / 4) return;
    int k = index * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if ((size_t)args.a_data % 16 == 0 && k <= args.a_n - 4) {
        // proven.py:13  a[k] += a[(k + 1) % a.shape[0]] + a[max(k - 1, 0)]
        vec4 a_k = a4(k);
        // not atomic: no other iteration writes it (demote_atomics)
        a4(k) = a_k + (vec4{a_k.y, a_k.z, a_k.w, a(mod_near_i32(k + 4, args.a_n))}
            + vec4{a(max(k - 1, 0)), a_k.x, a_k.y, a_k.z});
    } else {
        // one by one; k + 4 might overflow
        int end = k + min(args.a_n - k, 4);
        for (int kk = k; kk < end; kk++) {
            a(kk) += a(mod_near_i32(kk + 1, args.a_n)) + a(max(kk - 1, 0));
        }
    }
}
