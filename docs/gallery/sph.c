// shadesmith 0.1.0, c 38aec2f9, sph.py:63:
// move(x: ndarray[f32[2], 1], v: ndarray[f32[2], 1], new: ndarray[f32[2], 1], density:
//     ndarray[f32, 1])
#include <math.h>

enum { count_n1 = 46 };  // shape of count
enum { cell_n1 = 46, cell_n2 = 40 };  // shape of cell
// captured
static const float GRAVITY = 9.8f, H = 0.022f, SOUND = 14.0f, MASS = 9.025e-5f, VISCOSITY = 0.12f;
static const float STEP = 0.00025f;
enum { CELLS = 46, CAPACITY = 40 };  // captured
static const float pi_H = -1.8529256e9f;  // -30 / (ti.math.pi * H ** 5)

static inline int min_i32(int a, int b) { return a < b ? a : b; }
static inline int max_i32(int a, int b) { return a > b ? a : b; }

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

typedef struct { float x, y; } vec2;
typedef struct { int x, y; } ivec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline vec2 vec2_div_vs(vec2 a, float b) { return (vec2){a.x / b, a.y / b}; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *x_data;              // x: ndarray[f32[2], 1]
    const vec2 *v_data;              // v: ndarray[f32[2], 1]
    vec2 *new_data;                  // new: ndarray[f32[2], 1]
    const float *density_data;       // density: ndarray[f32, 1]
    const int *restrict count_data;  // count: field[i32, 46x46]
    const int *restrict cell_data;   // cell: field[i32, 46x46x40]
    int x_n;                         // x.shape[0]
};

#define x(i) args.x_data[i]
#define v(i) args.v_data[i]
#define new(i) args.new_data[i]
#define density(i) args.density_data[i]
#define count(i, j) args.count_data[(long long)(i) * count_n1 + (j)]
#define cell(i, j, k) args.cell_data[((long long)(i) * cell_n1 + (j)) * cell_n2 + (k)]

// sph.py:28  def slope(r):
static inline float slope(float r) {
    // sph.py:30  return -30 / (ti.math.pi * H**5) * ti.max(H - r, 0.0) ** 2
    float greatest = max_f32(H - r, 0.0f);
    return pi_H * (greatest * greatest);
}

// sph.py:64  for i in x:
static inline void task(const struct Args args, int i) {
    // sph.py:65  force, c = vec2(0.0, -GRAVITY), int(x[i] * CELLS)
    ivec2 c = {(int)(CELLS * x(i).x), (int)(CELLS * x(i).y)};
    vec2 force = {0.0f, -GRAVITY};
    // sph.py:67  (ti.max(c.x - 1, 0), ti.min(c.x + 2, CELLS)), (ti.max(c.y - 1, 0), ti.min(c.y + 2,
    //     CELLS))
    int end_a = min_i32(c.x + 2, CELLS), c_y_greatest = max_i32(c.y - 1, 0);
    int end_b = min_i32(c.y + 2, CELLS);
    // sph.py:66  for a, b in ti.ndrange( ...
    for (int a = max_i32(c.x - 1, 0); a < end_a; a++) {
        for (int b = c_y_greatest; b < end_b; b++) {
            // sph.py:69  for k in range(ti.min(count[a, b], CAPACITY)):
            int end_k = min_i32(count(a, b), CAPACITY);
            for (int k = 0; k < end_k; k++) {
                int j = cell(a, b, k);  // :70
                // sph.py:71  to = x[i] - x[j]
                vec2 to = vec2_sub(x(i), x(j));
                // sph.py:72  r = to.norm()
                float r = vec2_length(to);
                if (j != i && 1e-6f < r && r < H) {  // :73
                    // sph.py:74  pressure = SOUND**2 * ((density[i] - 1) / density[i] ** 2 +
                    //     (density[j] - 1) / density[j] ** 2)
                    float density_j = density(j);  // read once (common_subexpressions)
                    float pressure = SOUND * SOUND
                        * ((density(i) - 1.0f) / (density(i) * density(i))
                        + (density_j - 1.0f) / (density_j * density_j));
                    // sph.py:75  force -= MASS * pressure * slope(r) * to / r
                    float slope_r = slope(r);
                    force = vec2_sub(force,
                        vec2_div_vs(vec2_mul_sv(MASS * pressure * slope_r, to), r));
                    // sph.py:76  force += VISCOSITY * MASS * (v[j] - v[i]) / density[j] * -slope(r)
                    //     / r
                    force = vec2_add(force,
                        vec2_div_vs(vec2_mul_sv(-slope_r,
                        vec2_div_vs(vec2_mul_sv(VISCOSITY * MASS, vec2_sub(v(j), v(i))),
                        density_j)), r));
                }
            }
        }
    }
    // sph.py:77  new[i] = v[i] + STEP * force
    new(i) = vec2_add(v(i), vec2_mul_sv(STEP, force));
}

void move_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n >= 64)
    for (int i = 0; i < args.x_n; i++) {
        task(args, i);
    }
}
