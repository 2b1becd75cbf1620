// shadesmith 0.1.0, c fc430cea, gradient_of_energy.py:10: energy_grad()
#include <math.h>
#include <stdbool.h>

enum { x_n0 = 64 };  // shape of x, x_grad
enum { N = 64 };  // captured

typedef struct { float x, y; } vec2;

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    __atomic_load(address, &old, relaxed);
    do {
        new = old + value;
    } while (!__atomic_compare_exchange(address, &old, &new, true, relaxed, relaxed));
    return old;
}

static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }

struct Args {
    const vec2 *restrict x_data;           // x: field[f32[2], 64]
    vec2 *restrict x_grad_data;            // x_grad: field[f32[2], 64]
    const float *restrict loss_grad_data;  // loss_grad: field[f32, 0-D]
};

#define x(i) args.x_data[i]
#define x_grad(i) args.x_grad_data[i]
#define loss_grad() args.loss_grad_data[0]

// gradient_of_energy.py:11  for i in x:
static inline void task(const struct Args args, int i) {
    // adjoint of gradient_of_energy.py:17  loss[None] += e
    float e_adj = loss_grad();
    for (int j = 0; j < N; j++) {  // :13
        if (i != j) {  // :14
            // gradient_of_energy.py:15  r = x[i] - x[j]
            vec2 r = {x(i).x - x(j).x, x(i).y - x(j).y};
            // gradient_of_energy.py:16  e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
            float root = sqrtf(vec2_dot(r, r) + 0.001f);
            // adjoint of :16
            vec2 r_adj = vec2_mul_sv(2.0f * (0.5f * (-e_adj * (1.0f / root) / root) / root), r);
            // adjoint of :15
            atomic_add_f32(&x_grad(j).x, -r_adj.x);
            atomic_add_f32(&x_grad(j).y, -r_adj.y);
            atomic_add_f32(&x_grad(i).x, r_adj.x);
            atomic_add_f32(&x_grad(i).y, r_adj.y);
        }
    }
}

void energy_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < x_n0; i++) {
        task(args, i);
    }
}
