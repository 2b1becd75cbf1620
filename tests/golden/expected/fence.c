// shadesmith 0.1.0, c 9ea790fe, fence.py:9: fence(parts: ndarray[i32, 1], last: ndarray[i32, 1])

#define BLOCK 64

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

struct Args {
    int *parts_data;  // parts: ndarray[i32, 1]
    int *last_data;   // last: ndarray[i32, 1]
    int *done_data;   // done: field[i32, 0-D]
    int parts_n;      // parts.shape[0]
};

#define parts(i) args.parts_data[i]
#define last(i) args.last_data[i]
#define done() args.done_data[0]

// fence.py:11  for i in parts:
static inline void task(const struct Args args, int block, int count) {
    int threads = count - block * BLOCK < BLOCK ? count - block * BLOCK : BLOCK;
    for (int thread = 0; thread < threads; thread++) {
        int i = block * BLOCK + thread;
        // fence.py:12  parts[i] += 1
        atomic_add_i32(&parts(i), 1);
        // fence.py:13  ti.simt.grid.memfence()
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        // fence.py:14  last[i] = ti.atomic_add(done[None], 1)
        last(i) = atomic_add_i32(&done(), 1);
    }
}

void fence_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int count = args.parts_n;
    #pragma omp parallel for firstprivate(args) num_threads(4) schedule(static) if (count >= 64)
    for (int block = 0; block < (count + BLOCK - 1L) / BLOCK; block++) {
        task(args, block, count);
    }
}
