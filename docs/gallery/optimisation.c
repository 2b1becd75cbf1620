// shadesmith 0.1.0, c 850d9e6c, optimisation.py:17: fly_grad(k: i32)
#include <math.h>
#include <stdbool.h>

static const float WIND_x = -0.5f;  // WIND.x
static const float WIND_y = 0.0f;  // WIND.y
static const float DRAG = 0.35f, STEP = 0.012f;  // captured

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

typedef struct { float x, y; } vec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline vec2 vec2_neg(vec2 a) { return (vec2){-a.x, -a.y}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

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

static inline void atomic_add_vec2(vec2 *address, vec2 value) {
    atomic_add_f32(&address->x, value.x);
    atomic_add_f32(&address->y, value.y);
}

struct Args {
    const vec2 *restrict v_data;  // v: field[f32[2], 161]
    vec2 *restrict v_grad_data;   // v_grad: field[f32[2], 161]
    vec2 *restrict x_grad_data;   // x_grad: field[f32[2], 161]
    int k;                        // k: i32
};

#define v(i) args.v_data[i]
#define v_grad(i) args.v_grad_data[i]
#define x_grad(i) args.x_grad_data[i]

// optimisation.py:18  for _ in range(1):
static inline void task(const struct Args args) {
    // optimisation.py:19  air = v[k] - WIND
    vec2 air = {v(args.k).x - WIND_x, v(args.k).y - WIND_y};
    // optimisation.py:20  v[k + 1] = v[k] + STEP * (vec2(0.0, -GRAVITY) - DRAG * air.norm() * air)
    float norm_air = vec2_length(air);
    // adjoint of optimisation.py:21  x[k + 1] = x[k] + STEP * v[k + 1]
    vec2 x_adj = x_grad(args.k + 1);
    atomic_add_vec2(&x_grad(args.k), x_adj);
    // adjoint of :20
    vec2 v_adj_sum = vec2_add(vec2_mul_sv(STEP, x_adj), v_grad(args.k + 1));
    vec2 negative = vec2_neg(vec2_mul_sv(STEP, v_adj_sum));
    vec2 air_adj = vec2_add(vec2_mul_sv(DRAG * norm_air, negative),
        vec2_mul_sv(vec2_dot(negative, air) * DRAG / norm_air, air));
    atomic_add_vec2(&v_grad(args.k), vec2_add(v_adj_sum, air_adj));  // adjoint of :19
    x_grad(args.k + 1) = (vec2){0.0f, 0.0f};
    v_grad(args.k + 1) = (vec2){0.0f, 0.0f};
}

void fly_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 1; i++) {
        task(args);
    }
}
