// shadesmith 0.1.0, c e144ee6b, swap.py:4: swap(a: ndarray[f32, 1])

#define BLOCK 64

struct Args {
    float *restrict a_data;  // a: ndarray[f32, 1]
    int a_n;                 // a.shape[0]
};

#define a(i) args.a_data[i]

// swap.py:6  for i in a:
static inline void task(const struct Args args, int block, int count) {
    float tile[64] = {0};
    int threads = count - block * BLOCK < BLOCK ? count - block * BLOCK : BLOCK;
    for (int thread = 0; thread < threads; thread++) {
        int i = block * BLOCK + thread;
        // swap.py:8  t = ti.simt.block.thread_idx()
        int t = thread;
        tile[t] = a(i);  // :9
    }
    // swap.py:10  ti.simt.block.sync()
    for (int thread = 0; thread < threads; thread++) {
        int i = block * BLOCK + thread;
        int t = thread;
        a(i) = tile[63 - t];  // :11
    }
}

void swap_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int count = args.a_n;
    #pragma omp parallel for firstprivate(args) schedule(static) if (count >= 64)
    for (int block = 0; block < (count + BLOCK - 1L) / BLOCK; block++) {
        task(args, block, count);
    }
}
