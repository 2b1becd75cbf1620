// shadesmith 0.1.0, c 54558134, tiles.py:4: tiles(a: ndarray[f32, 1], sums: ndarray[f32, 1])

#define BLOCK 64

struct Args {
    float *a_data;     // a: ndarray[f32, 1]
    float *sums_data;  // sums: ndarray[f32, 1]
    int a_n;           // a.shape[0]
};

#define a(i) args.a_data[i]
#define sums(i) args.sums_data[i]

// tiles.py:6  for i in a:
static inline void task(const struct Args args, int block, int count) {
    float tile[64] = {0};
    int threads = count - block * BLOCK < BLOCK ? count - block * BLOCK : BLOCK;
    float x[BLOCK];
    for (int thread = 0; thread < threads; thread++) {
        int i = block * BLOCK + thread;
        // tiles.py:8  t = ti.simt.block.thread_idx()
        int t = thread;
        // tiles.py:9  x = a[i] * a[i]
        x[thread] = a(i) * a(i);
        // tiles.py:10  tile[t] = x
        tile[t] = x[thread];
    }
    // tiles.py:11  ti.simt.block.sync()
    int stride = 32;  // :12
    while (stride > 0) {  // :13
        for (int thread = 0; thread < threads; thread++) {
            int t = thread;
            if (t < stride) {  // :14
                // not atomic: no other thread writes it (demote_atomics)
                tile[t] += tile[t + stride];  // :15
            }
        }
        // tiles.py:16  ti.simt.block.sync()
        stride >>= 1;  // :17
    }
    for (int thread = 0; thread < threads; thread++) {
        int i = block * BLOCK + thread;
        int t = thread;
        // tiles.py:18  a[i] = x / tile[0]
        a(i) = x[thread] / tile[0];
        if (t == 0) {  // :19
            // tiles.py:20  sums[i // 64] = tile[0]
            sums(i >> 6) = tile[0];
        }
    }
}

void tiles_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    int count = args.a_n;
    #pragma omp parallel for firstprivate(args) schedule(dynamic) if (count >= 64)
    for (int block = 0; block < (count + BLOCK - 1L) / BLOCK; block++) {
        task(args, block, count);
    }
}
