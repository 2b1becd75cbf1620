// shadesmith 0.1.0, cuda f173d38d, report.py:4: report(a: ndarray[f32, 1])

#define BLOCK 128

typedef unsigned int uint32_t;

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

__device__ inline uint32_t report_print(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    return report_start(report, 0u, site, thread, size);
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

struct Args {
    const float *__restrict__ a_data;  // a: ndarray[f32, 1]
    uint32_t *report;                  // records of print and of checks
    int a_n;                           // a.shape[0]
};

#define a(i) args.a_data[i]

// report.py:5  for i in a:
__device__ inline void task(const Args &args, int i, uint32_t index) {
    if (a(i) < 0.0f) {  // :6
        // report.py:7  print("negative:", i, a[i])
        uint32_t record = report_print(args.report, 0u, index, 2u);
        record = report_i32(args.report, record, i);
        report_f32(args.report, record, a(i));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) report_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(args.a_n);
        index += gridDim.x * BLOCK) {
        task(args, int(index), index);
    }
}
