// shadesmith 0.1.0, c 2350620e, gradient_of_springs.py:11: springs_grad()
#include <math.h>
#include <stdbool.h>

enum { ends_n0 = 256 };  // shape of ends, length, stiffness, length_grad, stiffness_grad

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

typedef struct { float x, y; } vec2;
typedef struct { int x, y; } ivec2;

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = old + value;
    } while (!__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true, relaxed,
        relaxed));
    return old;
}

static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

static inline void atomic_add_vec2(vec2 *address, vec2 value) {
    atomic_add_f32(&address->x, value.x);
    atomic_add_f32(&address->y, value.y);
}

struct Args {
    const ivec2 *restrict ends_data;         // ends: field[i32[2], 256]
    const vec2 *restrict x_data;             // x: field[f32[2], 128]
    const float *restrict length_data;       // length: field[f32, 256]
    const float *restrict stiffness_data;    // stiffness: field[f32, 256]
    vec2 *restrict x_grad_data;              // x_grad: field[f32[2], 128]
    float *restrict length_grad_data;        // length_grad: field[f32, 256]
    float *restrict stiffness_grad_data;     // stiffness_grad: field[f32, 256]
    const float *restrict energy_grad_data;  // energy_grad: field[f32, 0-D]
};

#define ends(i) args.ends_data[i]
#define x(i) args.x_data[i]
#define length(i) args.length_data[i]
#define stiffness(i) args.stiffness_data[i]
#define x_grad(i) args.x_grad_data[i]
#define length_grad(i) args.length_grad_data[i]
#define stiffness_grad(i) args.stiffness_grad_data[i]
#define energy_grad() args.energy_grad_data[0]

// gradient_of_springs.py:12  for s in ends:
static inline void task(const struct Args args, int s) {
    // gradient_of_springs.py:13  d = x[ends[s][0]] - x[ends[s][1]]
    int ends_s_y = ends(s).y;
    vec2 d = vec2_sub(x(ends(s).x), x(ends_s_y));
    // gradient_of_springs.py:14  strain = d.norm() / length[s] - 1
    float norm_d = vec2_length(d), length_s = length(s), length_ratio = norm_d / length_s;
    float strain = length_ratio - 1.0f;
    // adjoint of gradient_of_springs.py:15  energy[None] += 0.5 * stiffness[s] * strain**2
    float strain_adj = strain * (energy_grad() * stiffness(s));
    stiffness_grad(s) += 0.5f * energy_grad() * (strain * strain);
    // adjoint of :14
    length_grad(s) -= strain_adj * length_ratio / length_s;
    vec2 d_adj = vec2_mul_sv(strain_adj / length_s / norm_d, d);
    // adjoint of :13
    atomic_add_f32(&x_grad(ends_s_y).x, -d_adj.x);
    atomic_add_f32(&x_grad(ends_s_y).y, -d_adj.y);
    atomic_add_vec2(&x_grad(ends(s).x), d_adj);
}

void springs_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int s = 0; s < ends_n0; s++) {
        task(args, s);
    }
}
