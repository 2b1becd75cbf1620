// shadesmith 0.1.0, c 449176f5, blur.py:4:
// blur(image: ndarray[f32, 2, clamped], out: ndarray[f32, 2, strided], peak:
//     ndarray[f32, 1, strided])
#include <stdbool.h>

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

// The valid index nearest to `index` on an axis of n elements.
static inline int clamp_index(int index, int n) {
    return index < 0 ? 0 : index < n ? index : n - 1;
}

static inline float atomic_max_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = max_f32(old, value);
    } while (new != old && !__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true,
        relaxed, relaxed));
    return old;
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
};

#define image(i, j) \
    args.image_data[(long long)clamp_index(i, args.image_n0) * args.image_n1 \
    + clamp_index(j, args.image_n1)]
#define out(i, j) args.out_data[(i) * args.out_stride0 + (j) * args.out_stride1]
#define peak(i) args.peak_data[(i) * args.peak_stride]

// blur.py:9  for i, j in out:
static inline void task(const struct Args args, int i, int j) {
    float s = 0.0f;  // :10
    // blur.py:11  for k in ti.static(range(-1, 2)):
    #pragma GCC unroll 3
    for (int k = -1; k < 2; k++) {
        s += image(i + k, j);  // :12
    }
    out(i, j) = s / 3.0f;  // :13
    atomic_max_f32(&peak(i), s);  // :14
}

void blur_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.out_n0 * args.out_n1 >= 8192)
    for (int i = 0; i < args.out_n0; i++) {
        for (int j = 0; j < args.out_n1; j++) {
            task(args, i, j);
        }
    }
}
