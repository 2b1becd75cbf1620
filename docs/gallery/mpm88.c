// shadesmith 0.1.0, c 19a0c45d, mpm88.py:53: substep()
#include <stdbool.h>

enum { mass_n0 = 64, mass_n1 = 64 };  // shape of mass, momentum
enum { position_n0 = 4096 };  // shape of position, stretch, affine, velocity
// captured
static const float SPACING = 0.015625f, STEP = 0.0002f, STIFFNESS = 400.0f, VOLUME = 6.1035156e-5f;
static const float GRAVITY = 9.8f;
enum { WALL = 3, CELLS = 64 };  // captured

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

typedef struct { float x, y; } vec2;
typedef struct { float m[2][2]; } mat2;  // 2 rows of 2
typedef struct { int x, y; } ivec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }

static inline mat2 mat2_add(mat2 a, mat2 b) {
    return (mat2){{{a.m[0][0] + b.m[0][0], a.m[0][1] + b.m[0][1]},
        {a.m[1][0] + b.m[1][0], a.m[1][1] + b.m[1][1]}}};
}

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

static inline vec2 vec2_div_vs(vec2 a, float b) { return (vec2){a.x / b, a.y / b}; }

static inline mat2 mat2_div_ms(mat2 a, float b) {
    return (mat2){{{a.m[0][0] / b, a.m[0][1] / b}, {a.m[1][0] / b, a.m[1][1] / b}}};
}

static inline vec2 mat2_matmul_vec2(mat2 a, vec2 b) {
    return (vec2){a.m[0][0] * b.x + a.m[0][1] * b.y, a.m[1][0] * b.x + a.m[1][1] * b.y};
}

static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }

static inline mat2 mat2_mul_sm(float a, mat2 b) {
    return (mat2){{{a * b.m[0][0], a * b.m[0][1]}, {a * b.m[1][0], a * b.m[1][1]}}};
}

static inline vec2 vec2_mul(vec2 a, vec2 b) { return (vec2){a.x * b.x, a.y * b.y}; }

static inline mat2 vec2_outerProduct(vec2 a, vec2 b) {
    return (mat2){{{a.x * b.x, a.x * b.y}, {a.y * b.x, a.y * b.y}}};
}

static inline vec2 vec2_sub_sv(float a, vec2 b) { return (vec2){a - b.x, a - b.y}; }
static inline vec2 vec2_sub_vs(vec2 a, float b) { return (vec2){a.x - b, a.y - b}; }

static inline void atomic_add_vec2(vec2 *address, vec2 value) {
    atomic_add_f32(&address->x, value.x);
    atomic_add_f32(&address->y, value.y);
}

struct Args {
    float *restrict mass_data;     // mass: field[f32, 64x64]
    vec2 *restrict momentum_data;  // momentum: field[f32[2], 64x64]
    vec2 *restrict position_data;  // position: field[f32[2], 4096]
    float *restrict stretch_data;  // stretch: field[f32, 4096]
    mat2 *restrict affine_data;    // affine: field[f32[2x2], 4096]
    vec2 *restrict velocity_data;  // velocity: field[f32[2], 4096]
};

#define mass(i, j) args.mass_data[(long long)(i) * mass_n1 + (j)]
#define momentum(i, j) args.momentum_data[(long long)(i) * mass_n1 + (j)]
#define position(i) args.position_data[i]
#define stretch(i) args.stretch_data[i]
#define affine(i) args.affine_data[i]
#define velocity(i) args.velocity_data[i]

// task 0 of 4: range_for over mass
// mpm88.py:54  for i, j in mass:
static inline void task_0(const struct Args args, int i, int j) {
    // mpm88.py:55  momentum[i, j] = ti.Vector([0.0, 0.0])
    momentum(i, j) = (vec2){0.0f, 0.0f};
    mass(i, j) = 0.0f;  // :56
}

void substep_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < mass_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < mass_n1; j++) {
            task_0(args, i, j);
        }
    }
}

// task 1 of 4: range_for over position
// mpm88.py:57  for p in position:
static inline void task_1(const struct Args args, int p) {
    // mpm88.py:58  base = ti.cast(position[p] / SPACING - 0.5, ti.i32)
    ivec2 base = {(int)(position(p).x / SPACING - 0.5f), (int)(position(p).y / SPACING - 0.5f)};
    // mpm88.py:59  offset = position[p] / SPACING - base
    vec2 offset = {position(p).x / SPACING - base.x, position(p).y / SPACING - base.y};
    // mpm88.py:60  w = weights(offset)
    vec2 w[3] = {vec2_mul_sv(0.5f, vec2_mul(vec2_sub_sv(1.5f, offset), vec2_sub_sv(1.5f, offset))),
        vec2_sub_sv(0.75f, vec2_mul(vec2_sub_vs(offset, 1.0f), vec2_sub_vs(offset, 1.0f))),
        vec2_mul_sv(0.5f, vec2_mul(vec2_sub_vs(offset, 0.5f), vec2_sub_vs(offset, 0.5f)))};
    // mpm88.py:61  pressure = -STEP * 4 * STIFFNESS * VOLUME * (stretch[p] - 1) / SPACING**2
    float pressure = -STEP * 4.0f * STIFFNESS * VOLUME * (stretch(p) - 1.0f) / (SPACING * SPACING);
    // mpm88.py:62  push = ti.Matrix([[pressure, 0.0], [0.0, pressure]]) + VOLUME * affine[p]
    mat2 push = mat2_add((mat2){{{pressure, 0.0f}, {0.0f, pressure}}},
        mat2_mul_sm(VOLUME, affine(p)));
    // mpm88.py:63  for i, j in ti.static(ti.ndrange(3, 3)):
    vec2 velocity_p = velocity(p);  // the same in all iterations (hoist_loads)
    #pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        #pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            float share = w[i].x * w[j].y;  // :65
            // mpm88.py:66  momentum[base + node] += share * (VOLUME * velocity[p] + push @ ((node -
            //     offset) * SPACING))
            atomic_add_vec2(&momentum(base.x + i, base.y + j), vec2_mul_sv(share,
                vec2_add(vec2_mul_sv(VOLUME, velocity_p), mat2_matmul_vec2(push,
                (vec2){SPACING * (i - offset.x), SPACING * (j - offset.y)}))));
            // mpm88.py:67  mass[base + node] += share * VOLUME
            atomic_add_f32(&mass(base.x + i, base.y + j), share * VOLUME);
        }
    }
}

void substep_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int p = 0; p < position_n0; p++) {
        task_1(args, p);
    }
}

// task 2 of 4: range_for over mass
// mpm88.py:68  for i, j in mass:
static inline void task_2(const struct Args args, int i, int j) {
    if (mass(i, j) > 0.0f) {  // :69
        // mpm88.py:70  v = momentum[i, j] / mass[i, j]
        vec2 v = vec2_div_vs(momentum(i, j), mass(i, j));
        v.y -= STEP * GRAVITY;  // :71
        if ((i < WALL && v.x < 0.0f) || (i > CELLS - WALL && v.x > 0.0f)) {  // :72
            v.x = 0.0f;  // :73
        }
        if ((j < WALL && v.y < 0.0f) || (j > CELLS - WALL && v.y > 0.0f)) {  // :74
            v.y = 0.0f;  // :75
        }
        momentum(i, j) = v;  // :76
    }
}

void substep_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < mass_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < mass_n1; j++) {
            task_2(args, i, j);
        }
    }
}

// task 3 of 4: range_for over position
// mpm88.py:77  for p in position:
static inline void task_3(const struct Args args, int p) {
    // mpm88.py:78  base = ti.cast(position[p] / SPACING - 0.5, ti.i32)
    vec2 position_p = position(p);  // read once (common_subexpressions)
    ivec2 base = {(int)(position_p.x / SPACING - 0.5f), (int)(position_p.y / SPACING - 0.5f)};
    // mpm88.py:79  offset = position[p] / SPACING - base
    vec2 offset = {position_p.x / SPACING - base.x, position_p.y / SPACING - base.y};
    // mpm88.py:80  w = weights(offset)
    vec2 w[3] = {vec2_mul_sv(0.5f, vec2_mul(vec2_sub_sv(1.5f, offset), vec2_sub_sv(1.5f, offset))),
        vec2_sub_sv(0.75f, vec2_mul(vec2_sub_vs(offset, 1.0f), vec2_sub_vs(offset, 1.0f))),
        vec2_mul_sv(0.5f, vec2_mul(vec2_sub_vs(offset, 0.5f), vec2_sub_vs(offset, 0.5f)))};
    // mpm88.py:81  v = ti.Vector.zero(ti.f32, 2)
    vec2 v = {0.0f, 0.0f};
    // mpm88.py:82  gradient = ti.Matrix.zero(ti.f32, 2, 2)
    mat2 gradient = {0};
    // mpm88.py:83  for i, j in ti.static(ti.ndrange(3, 3)):
    #pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        #pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            float share = w[i].x * w[j].y;  // :85
            // mpm88.py:86  v += share * momentum[base + node]
            v = vec2_add(v, vec2_mul_sv(share, momentum(base.x + i, base.y + j)));
            // mpm88.py:87  gradient += 4 * share * momentum[base + node].outer_product(node -
            //     offset) / SPACING
            gradient = mat2_add(gradient,
                mat2_div_ms(mat2_mul_sm(4.0f * share,
                vec2_outerProduct(momentum(base.x + i, base.y + j),
                (vec2){i - offset.x, j - offset.y})), SPACING));
        }
    }
    velocity(p) = v;  // :88
    // mpm88.py:89  position[p] += STEP * v
    // not atomic: no other iteration writes it (demote_atomics)
    position(p) = vec2_add(position_p, vec2_mul_sv(STEP, v));
    // mpm88.py:90  stretch[p] *= 1 + STEP * gradient.trace()
    stretch(p) *= 1.0f + STEP * (gradient.m[0][0] + gradient.m[1][1]);
    affine(p) = gradient;  // :91
}

void substep_3(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int p = 0; p < position_n0; p++) {
        task_3(args, p);
    }
}
