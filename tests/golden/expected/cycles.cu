// shadesmith 0.1.0, cuda 5adfb08a, cycles.py:16: cycles(lengths: ndarray[i32, 1])

#define BLOCK 128

struct Args {
    int *__restrict__ lengths_data;  // lengths: ndarray[i32, 1]
    int lengths_n;                   // lengths.shape[0]
};

#define lengths(i) args.lengths_data[i]

__device__ int halve(int n, int steps);

// cycles.py:12  def grow(n: ti.i32, steps: ti.i32) -> ti.i32:
__device__ int grow(int n, int steps) { return n == 1 ? steps : halve(int(3u * n + 1), steps + 1); }

// cycles.py:5  def halve(n: ti.i32, steps: ti.i32) -> ti.i32:
__device__ int halve(int n, int steps) {
    // cycles.py:6  if n % 2 == 0:
    if ((n & 1) == 0) {
        // cycles.py:7  return halve(n // 2, steps + 1)
        return halve(n >> 1, steps + 1);
    }
    return grow(n, steps);  // :8
}

// cycles.py:17  for n in lengths:
__device__ inline void task(const Args &args, int n) {
    lengths(n) = halve(n + 1, 0);  // :18
}

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
extern "C" __global__ void __launch_bounds__(BLOCK) cycles_0(const Args args) {
    for (unsigned index = blockIdx.x * blockDim.x + threadIdx.x; index < unsigned(args.lengths_n);
        index += gridDim.x * blockDim.x) {
        task(args, int(index));
    }
}
