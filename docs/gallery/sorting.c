// shadesmith 0.1.0, c 9397d9e8, sorting.py:23:
// paint(rows: ndarray[f32, 2], image: ndarray[f32[3], 2])
#include <math.h>

enum { N = 256 };  // captured
static const float pi = 3.1415927f;  // ti.math.pi

// Quotient rounded toward zero; 0 if the divisor is 0.
static inline int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 and the lowest number / -1 trap on x86
}

// Remainder with the sign of the dividend; 0 if the divisor is 0.
static inline int rem_i32(int a, int b) { return b == 0 || b == -1 ? 0 : a % b; }

// Python's //: quotient rounded toward minus infinity; 0 if the divisor is 0.
static inline int floor_div_i32(int a, int b) {
    return div_i32(a, b) - (rem_i32(a, b) != 0 && (a ^ b) < 0);
}

typedef struct { float x, y, z; } vec3;

struct Args {
    const float *rows_data;  // rows: ndarray[f32, 2]
    vec3 *image_data;        // image: ndarray[f32[3], 2]
    int rows_n0;             // rows.shape[0]
    int rows_n1;             // rows.shape[1]
    int image_n0;            // image.shape[0]
    int image_n1;            // image.shape[1]
};

#define rows(i, j) args.rows_data[(long long)(i) * args.rows_n1 + (j)]
#define image(i, j) args.image_data[(long long)(i) * args.image_n1 + (j)]

// sorting.py:24  for i, j in image:
static inline void task(const struct Args args, int i, int j) {
    // sorting.py:25  hue =
    //     rows[rows.shape[0] - 1 - j * rows.shape[0] // image.shape[1], i * N // image.shape[0]]
    float hue = rows(args.rows_n0 - 1 - floor_div_i32(j * args.rows_n0, args.image_n1),
        floor_div_i32(i * N, args.image_n0));
    // sorting.py:26  for k in ti.static(range(3)):
    const float value[3] = {0.0f, 0.33333334f, 0.6666667f};
    // sorting.py:27  image[i, j][k] = 0.55 + 0.45 * ti.cos(2 * ti.math.pi * (0.85 * hue + k / 3))
    image(i, j).x = 0.55f + 0.45f * cosf(2.0f * pi * (0.85f * hue + value[0]));
    image(i, j).y = 0.55f + 0.45f * cosf(2.0f * pi * (0.85f * hue + value[1]));
    image(i, j).z = 0.55f + 0.45f * cosf(2.0f * pi * (0.85f * hue + value[2]));
}

void paint_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.image_n0 * args.image_n1 >= 8192)
    for (int i = 0; i < args.image_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.image_n1; j++) {
            task(args, i, j);
        }
    }
}
