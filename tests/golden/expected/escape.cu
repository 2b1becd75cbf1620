// shadesmith 0.1.0, cuda 86f7a5c5, escape.py:4: escape(pixels: ndarray[f32, 2], n: i32, t: f32)

#define BLOCK 128

// As sqrtf by one instruction: of a subnormal number it is 0.
__device__ inline float normal_sqrt_f32(float x) {
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(x));
    return x;
}

// How to divide by a number of the launch without a division.
struct Divisor { unsigned multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
__device__ inline unsigned divide(unsigned n, Divisor by) {
    return (__umulhi(n, by.multiplier) + n) >> by.shift;
}

using vec2 = float2;

__device__ inline vec2 operator+(vec2 a, vec2 b) { return {a.x + b.x, a.y + b.y}; }
__device__ inline vec2 operator*(vec2 a, float b) { return {a.x * b, a.y * b}; }
__device__ inline float length(vec2 a) { return normal_sqrt_f32(a.x * a.x + a.y * a.y); }

struct Args {
    float *__restrict__ pixels_data;  // pixels: ndarray[f32, 2]
    int n;                            // n: i32
    float t;                          // t: f32
    int pixels_n0;                    // pixels.shape[0]
    int pixels_n1;                    // pixels.shape[1]
    Divisor by_pixels_n1;             // to divide by pixels_n1 (launch_divisors)
};

#define pixels(i, j) args.pixels_data[(long long)(i) * args.pixels_n1 + (j)]

// a launch of up to 32,768 iterations has blocks of 32 threads (few_threads)
// escape.py:5  for i, j in pixels:
extern "C" __global__ void __launch_bounds__(BLOCK) escape_0(const Args args) {
    unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= unsigned(args.pixels_n0) * unsigned(args.pixels_n1)) return;
    int i = divide(index, args.by_pixels_n1), j = index - i * args.pixels_n1;
    // escape.py:6  c = ti.Vector([-0.8, ti.cos(t) * 0.2])
    vec2 c = {-0.8f, cosf(args.t) * 0.2f};
    // escape.py:7  z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
    vec2 z = vec2{(float)i / args.n - 1.0f, (float)j / args.n - 0.5f} * 2.0f;
    int iterations = 0;  // :8
    // escape.py:9  while z.norm() < 20 and iterations < 50:
    while (length(z) < 20.0f && iterations < 50) {
        // escape.py:10  z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
        z = vec2{z.x * z.x - z.y * z.y, z.y * z.x * 2.0f} + c;
        iterations += 1;  // :11
    }
    pixels(i, j) = 1.0f - iterations * 0.02f;  // :12
}
