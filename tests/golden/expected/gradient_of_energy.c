// shadesmith 0.1.0, c 7adc2923, gradient_of_energy.py:10: energy_grad()
#include <math.h>

enum { x_n0 = 64 };  // shape of x, x_grad
enum { N = 64 };  // captured

typedef struct { float x, y; } vec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *restrict x_data;           // x: field[f32[2], 64]
    vec2 *restrict x_grad_data;            // x_grad: field[f32[2], 64]
    const float *restrict loss_grad_data;  // loss_grad: field[f32, 0-D]
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define loss_grad() args.loss_grad_data[0]

// gradient_of_energy.py:11  for i in x:
static inline void task(const struct Args args, int j) {
    vec2 x_adj = {0.0f, 0.0f};
    for (int i = 0; i < x_n0; i++) {  // adjoint of :11
        // gradient_of_energy.py:15  r = x[i] - x[j]
        vec2 r = vec2_sub(x(i), x(j));
        // gradient_of_energy.py:16  e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
        float root = sqrtf(vec2_dot(r, r) + 0.001f);
        vec2 term = vec2_mul_sv(loss_grad() * (1.0f / root) / root / root, r);  // adjoint of :16
        if (i != j) {  // :14
            x_adj = vec2_add(x_adj, term);  // adjoint of :15
        }
    }
    // adjoint of gradient_of_energy.py:17  loss[None] += e
    float loss_grad_value = loss_grad();
    // gradient_of_energy.py:13  for j in range(N):
    for (int j_1 = 0; j_1 < N; j_1++) {
        vec2 r = vec2_sub(x(j), x(j_1));
        float root = sqrtf(vec2_dot(r, r) + 0.001f);
        vec2 term = vec2_mul_sv(loss_grad_value * (1.0f / root) / root / root, r);
        if (j != j_1) {
            x_adj = vec2_sub(x_adj, term);
        }
    }
    x_grad(j) = vec2_add(x_grad(j), x_adj);
}

void energy_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int j = 0; j < x_n0; j++) {
        task(args, j);
    }
}
