// shadesmith 0.1.0, cuda c2d63378, ranges.py:4: ranges(a: ndarray[f32, 1], begin: i32, end: i32)

#define BLOCK 128

struct Args {
    float *__restrict__ a_data;  // a: ndarray[f32, 1]
    int begin;                   // begin: i32
    int end;                     // end: i32
};

#define a(i) args.a_data[i]

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
// ranges.py:5  for i in range(begin, end, 2):
extern "C" __global__ void __launch_bounds__(BLOCK) ranges_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= (unsigned(max(args.end, args.begin)) - unsigned(args.begin) + 1) / 2) return;
    int i = int(unsigned(args.begin) + index * 2u);
    float r = 0.0f;  // :6
    // ranges.py:7  for k in range(i, 0, -1):
    for (int k = i; k > 0; k--) {
        for (int q = 0; q < k; q++) {  // :8
            if (q == 3) {  // :9
                continue;  // :10
            }
            r += a(q) * a(k);  // :11
        }
    }
    a(i) = r > 0.0f && a(i + 1) > 0.0f ? r : -r;  // :12
}
