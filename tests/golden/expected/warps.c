// shadesmith 0.1.0, c 9304b990, warps.py:5: warps(a: ndarray[i32, 1], b: ndarray[i32, 1])
#include <stdbool.h>

#define BLOCK 256

static inline int max_i32(int a, int b) { return a > b ? a : b; }

// How many threads vote true.
static inline int block_count(int threads, const bool *vote) {
    int count = 0;
    for (int thread = 0; thread < threads; thread++) {
        count += vote[thread];
    }
    return count;
}

static inline void subgroup_inclusive_add_i32(int threads, const int *value, int *result) {
    for (int first = 0; first < threads; first += 32) {
        int end = threads - first < 32 ? threads : first + 32;
        int all = 0;
        for (int lane = first; lane < end; lane++) {
            all = all + value[lane];
            result[lane] = all;
        }
    }
}

static inline void subgroup_reduce_max_i32_of_some(int threads, const bool *takes_part,
    const int *value, int *result) {
    for (int first = 0; first < threads; first += 32) {
        int end = threads - first < 32 ? threads : first + 32;
        int all = (-2147483647 - 1);
        for (int lane = first; lane < end; lane++) {
            if (!takes_part[lane]) continue;
            all = max_i32(all, value[lane]);
        }
        for (int lane = first; lane < end; lane++) {
            if (!takes_part[lane]) continue;
            result[lane] = all;
        }
    }
}

static inline void subgroup_shuffle_down_i32_by(int threads, const int *value, int offset,
    int *result) {
    for (int first = 0; first < threads; first += 32) {
        int end = threads - first < 32 ? threads : first + 32;
        for (int lane = first; lane < end; lane++) {
            int source = lane + offset;
            result[lane] = source >= first && source < end ? value[source] : value[lane];
        }
    }
}

struct Args {
    const int *a_data;  // a: ndarray[i32, 1]
    int *b_data;        // b: ndarray[i32, 1]
};

#define a(i) args.a_data[i]
#define b(i) args.b_data[i]

// warps.py:7  for i in range(1024):
static inline void task(const struct Args args, int block) {
    int carried[BLOCK];
    for (int thread = 0; thread < BLOCK; thread++) {
        int i = block * BLOCK + thread;
        // warps.py:8  x = simt.subgroup.inclusive_add(a[i])
        carried[thread] = a(i);
    }
    int x[BLOCK];
    subgroup_inclusive_add_i32(BLOCK, carried, x);
    int shuffle_down[BLOCK];
    // warps.py:9  y = simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), x, 1)
    subgroup_shuffle_down_i32_by(BLOCK, x, 1, shuffle_down);
    bool takes_part[BLOCK];
    int y[BLOCK];
    for (int thread = 0; thread < BLOCK; thread++) {
        y[thread] = shuffle_down[thread];
        // warps.py:10  if x > 0:
        takes_part[thread] = x[thread] > 0;
    }
    int reduce_max[BLOCK];
    // warps.py:11  y += simt.subgroup.reduce_max(x)
    subgroup_reduce_max_i32_of_some(BLOCK, takes_part, x, reduce_max);
    for (int thread = 0; thread < BLOCK; thread++) {
        if (!takes_part[thread]) continue;
        y[thread] += reduce_max[thread];
    }
    bool carried_1[BLOCK];
    int carried_2[BLOCK];
    for (int thread = 0; thread < BLOCK; thread++) {
        // warps.py:12  b[i] = y + simt.block.sync_count_nonzero(y)
        carried_2[thread] = y[thread];
        carried_1[thread] = y[thread] != 0;
    }
    int value = block_count(BLOCK, carried_1);
    for (int thread = 0; thread < BLOCK; thread++) {
        int i = block * BLOCK + thread;
        b(i) = carried_2[thread] + value;
    }
}

void warps_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    _Static_assert(1024 % BLOCK == 0, "each thread has an iteration");
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int block = 0; block < 1024 / BLOCK; block++) {
        task(args, block);
    }
}
