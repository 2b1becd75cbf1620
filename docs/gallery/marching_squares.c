// shadesmith 0.1.0, c 155d1532, marching_squares.py:43: march(x: ndarray[f32, 2], level: f32)
#include <stdbool.h>

enum { lines_n1 = 2 };  // shape of lines
enum { N = 128, CAPACITY = 32768 };  // captured

typedef struct { float x, y; } vec2;
typedef struct { bool x, y, z, w; } bvec4;

static inline vec2 vec2_add_vs(vec2 a, float b) { return (vec2){a.x + b, a.y + b}; }
static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }

static inline bool bvec4_at(bvec4 a, int index) {
    return index == 0 ? a.x : index == 1 ? a.y : index == 2 ? a.z : a.w;
}

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline vec2 vec2_div_vs(vec2 a, float b) { return (vec2){a.x / b, a.y / b}; }
static inline vec2 vec2_mul_vs(vec2 a, float b) { return (vec2){a.x * b, a.y * b}; }

struct Args {
    const float *restrict x_data;  // x: ndarray[f32, 2]
    int *restrict count_data;      // count: field[i32, 0-D]
    vec2 *restrict lines_data;     // lines: field[f32[2], 32768x2]
    float level;                   // level: f32
    int x_n1;                      // x.shape[1]
};

#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define count() args.count_data[0]
#define lines(i, j) args.lines_data[(long long)(i) * lines_n1 + (j)]

// ti.math.mix
static inline vec2 mix(vec2 x_, vec2 y, float a) {
    return vec2_add(vec2_mul_vs(x_, 1.0f - a), vec2_mul_vs(y, a));
}

// marching_squares.py:44  for i, j in ti.ndrange(N - 1, N - 1):
static inline void task(const struct Args args, int i, int j) {
    // marching_squares.py:45  inside = ti.Vector([x[i, j] > level, x[i + 1, j] > level, x[i + 1, j
    //     + 1] > level, x[i, j + 1] > level])
    bool inside_x = x(i, j) > args.level, inside_y = x(i + 1, j) > args.level;
    bool inside_z = x(i + 1, j + 1) > args.level, inside_w = x(i, j + 1) > args.level;
    // marching_squares.py:46  crossed = ti.Vector( ...
    bvec4 crossed = {inside_x != inside_w, inside_x != inside_y, inside_y != inside_z,
        inside_z != inside_w};
    // marching_squares.py:49  previous, found = vec2(0.0), 0
    vec2 previous = {0.0f, 0.0f};
    int found = 0;
    // marching_squares.py:50  for side in ti.static(range(4)):
    #pragma GCC unroll 4
    for (int side = 0; side < 4; side++) {
        // marching_squares.py:51  if crossed[side]:
        if (bvec4_at(crossed, side)) {
            vec2 a = {(float)i, (float)j}, b = {(float)i, (float)j};  // :27
            if (side == 0) {  // :28
                b.y += 1.0f;  // :29
            } else if (side == 1) {  // :30
                b.x += 1.0f;  // :31
            } else if (side == 2) {  // :32
                a.x += 1.0f;  // :33
                // marching_squares.py:34  b += 1
                b = vec2_add_vs(b, 1.0f);
            } else {
                a.y += 1.0f;  // :36
                // marching_squares.py:37  b += 1
                b = vec2_add_vs(b, 1.0f);
            }
            float low = x((int)a.x, (int)a.y), high = x((int)b.x, (int)b.y);  // :38
            // marching_squares.py:39  return mix(a, b, (level - low) / (high - low)) / N
            vec2 point = vec2_div_vs(mix(a, b, (args.level - low) / (high - low)), (float)N);
            // marching_squares.py:53  if found % 2 == 1:
            if ((found & 1) == 1) {
                // marching_squares.py:54  k = ti.atomic_add(count[None], 1)
                int k = atomic_add_i32(&count(), 1);
                if (k < CAPACITY) {  // :55
                    // marching_squares.py:56  lines[k, 0], lines[k, 1] = previous, point
                    lines(k, 0) = previous;
                    lines(k, 1) = point;
                }
            }
            previous = point;  // :57
            found += 1;  // :58
        }
    }
}

void march_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < N - 1; i++) {
        for (int j = 0; j < N - 1; j++) {
            task(args, i, j);
        }
    }
}
