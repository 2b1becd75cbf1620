// shadesmith 0.1.0, cuda f8e4e7af, blur.py:4:
// blur(image: ndarray[f32, 2, clamped], out: ndarray[f32, 2, strided], peak:
//     ndarray[f32, 1, strided])

#define BLOCK 128

// The valid index nearest to `index` on an axis of n elements.
__device__ inline int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

__device__ inline float atomic_max_f32(float *address, float value) {
    unsigned int *bits = (unsigned int *)address;
    unsigned int old = *bits, assumed;
    do {
        assumed = old;
        float next = fmaxf(__uint_as_float(assumed), value);
        if (__float_as_uint(next) == assumed) {
            break;
        }
        old = atomicCAS(bits, assumed, __float_as_uint(next));
    } while (old != assumed);
    return __uint_as_float(old);
}

struct Args {
    const float *image_data;  // image: ndarray[f32, 2, clamped]
    float *out_data;          // out: ndarray[f32, 2, strided]
    float *peak_data;         // peak: ndarray[f32, 1, strided]
    long long out_stride0;    // out.strides[0], in elements
    long long out_stride1;    // out.strides[1], in elements
    long long peak_stride;    // peak.strides[0], in elements
    int image_n0;             // image.shape[0]
    int image_n1;             // image.shape[1]
    int out_n0;               // out.shape[0]
    int out_n1;               // out.shape[1]
    Divisor by_out_n1;        // to divide by out_n1 (launch_divisors)
};

#define image(i, j) \
    args.image_data[(long long)clamp_index(i, args.image_n0) * args.image_n1 \
    + clamp_index(j, args.image_n1)]
#define out(i, j) args.out_data[(i) * args.out_stride0 + (j) * args.out_stride1]
#define peak(i) args.peak_data[(i) * args.peak_stride]

// blur.py:9  for i, j in out:
__device__ inline void task(const Args &args, int i, int j) {
    float s = 0.0f;  // :10
    // blur.py:11  for k in ti.static(range(-1, 2)):
    #pragma unroll
    for (int k = -1; k < 2; k++) {
        s += image(i + k, j);  // :12
    }
    out(i, j) = s / 3.0f;  // :13
    atomic_max_f32(&peak(i), s);  // :14
}

extern "C" __global__ void __launch_bounds__(BLOCK) blur_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(args.out_n0) * unsigned(args.out_n1); index += gridDim.x * BLOCK) {
        unsigned i = divide(index, args.by_out_n1);
        task(args, int(i), int(index - i * args.out_n1));
    }
}
