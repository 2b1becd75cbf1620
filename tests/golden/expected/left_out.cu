// shadesmith 0.1.0, cuda 29d6618f, left_out.py:18: kernel(x: ndarray[f32, 1], dt: f32)
// no task for the loop in line 19: it does nothing (dead_code)
// `if debug:` in line 35 left out: always false (frontend)

#define BLOCK 128

struct Args {
    float *__restrict__ x_data;  // x: ndarray[f32, 1]
    float dt;                    // dt: f32
    int x_n;                     // x.shape[0]
};

#define x(i) args.x_data[i]

// left_out.py:10  def slope(x: ti.template(), i):
__device__ inline float slope(const Args &args, int i) {
    // `if order == 2:` is always true (frontend)
    float found = (x(i + 1) - x(i - 1)) / 2.0f;  // :13
    return found;  // :14
}

// left_out.py:22  for i in range(1, x.shape[0] - 1):
__device__ inline void task(const Args &args, int i) {
    // `if debug:` left out: always false (frontend)
    // left_out.py:26  x[i] -= dt * slope(x, i)
    x(i) -= args.dt * slope(args, i);  // not atomic: no other iteration writes it (demote_atomics)
    // `if limit > 2:` left out: always false (simplify)
    // `elif order == 1:` left out: always false (frontend)
    x(i) *= 0.5f;  // :32
}

extern "C" __global__ void __launch_bounds__(BLOCK) kernel_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(max(args.x_n - 2, 0));
        index += gridDim.x * BLOCK) {
        task(args, 1 + int(index));
    }
}
