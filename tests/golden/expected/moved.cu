// shadesmith 0.1.0, cuda 4ba2e2fa, moved.py:9: swap(n: i32)

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

// Start the record of a failed check, unless an earlier iteration has one: only the first is shown.
__device__ inline uint32_t report_failure(
    uint32_t *report, uint32_t site, uint32_t thread, uint32_t size
) {
    atomicAdd(&report[6], 1u);
    atomicMin(&report[8], site);
    return thread < atomicMin(&report[7], thread) ? report_start(report, 3u, site, thread, size)
                                                   : 0u;
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

struct Args {
    float *__restrict__ columns_data;  // columns: field[f32, 6x10 from (-3, 2)]
    float *__restrict__ tiles_data;    // tiles: field[f32, 6x10 from (-3, 2)]
    uint32_t *report;                  // records of print and of checks
    int n;                             // n: i32
};

#define columns(i, j) args.columns_data[((j) - 2) * 6 + ((i) + 3)]
#define tiles(i, j) \
    args.tiles_data[(unsigned((i) + 3) / 2 * 5 + unsigned((j) - 2) / 2) * 4 \
    + unsigned((i) + 3) % 2 * 2 + unsigned((j) - 2) % 2]

// task 0 of 2: range_for over columns
// moved.py:10  for i, j in columns:
extern "C" __global__ void __launch_bounds__(BLOCK) swap_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= 60) return;
    int i = -3 + index % 6, j = 2 + index / 6;
    columns(i, j) = tiles(i, j);  // :11
}

// task 1 of 2: range_for over tiles
// moved.py:12  for i, j in tiles:
__device__ inline void task_1(const Args &args, int i, int j, uint32_t index) {
    // moved.py:13  tiles[i, j] = columns[n - i, j]
    if (int(unsigned(args.n) - i) < -3 || int(unsigned(args.n) - i) >= 3 || j < 2 || j >= 12) {
        uint32_t record = report_failure(args.report, 0u, index, 4u);
        record = report_i32(args.report, record, int(unsigned(args.n) - i));
        record = report_i32(args.report, record, j);
        record = report_i32(args.report, record, 6);
        report_i32(args.report, record, 10);
        return;
    }
    tiles(i, j) = columns(int(unsigned(args.n) - i), j);
}

extern "C" __global__ void __launch_bounds__(BLOCK) swap_1(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index < 60) {
        task_1(args, -3 + int(index / 20 * 2 + index / 2 % 2),
            2 + int(index / 4 % 5 * 2 + index % 2), index);
    }
}
