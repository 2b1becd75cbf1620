// shadesmith 0.1.0, c 954b7d81, lattice_boltzmann.py:50:
// step(f: ndarray[f32[9], 2], new: ndarray[f32[9], 2])
#include <math.h>

enum { NY = 108, NX = 360, RADIUS = 10 };  // captured
static const float SPEED = 0.1f, TAU = 0.54f;  // captured

static inline int min_i32(int a, int b) { return a < b ? a : b; }
static inline int max_i32(int a, int b) { return a > b ? a : b; }

// Python's % for a positive divisor.
static inline int mod_positive_i32(int a, int b) {
    int remainder = a % b;
    return remainder + (remainder < 0 ? b : 0);
}

typedef struct { float x, y; } vec2;
typedef struct { float e[9]; } vec9;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }

static inline vec9 vec9_add(vec9 a, vec9 b) {
    vec9 r;
    for (int i = 0; i < 9; i++) {
        r.e[i] = a.e[i] + b.e[i];
    }
    return r;
}

static inline vec2 vec2_div_vs(vec2 a, float b) { return (vec2){a.x / b, a.y / b}; }

static inline vec9 vec9_div_vs(vec9 a, float b) {
    vec9 r;
    for (int i = 0; i < 9; i++) {
        r.e[i] = a.e[i] / b;
    }
    return r;
}

static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline float vec2_length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

static inline vec9 vec9_sub(vec9 a, vec9 b) {
    vec9 r;
    for (int i = 0; i < 9; i++) {
        r.e[i] = a.e[i] - b.e[i];
    }
    return r;
}

static inline float vec9_sum(vec9 a) {
    float r = 0.0f;
    for (int i = 0; i < 9; i++) {
        r += a.e[i];
    }
    return r;
}

struct Args {
    const vec9 *f_data;  // f: ndarray[f32[9], 2]
    vec9 *new_data;      // new: ndarray[f32[9], 2]
    int f_n0;            // f.shape[0]
    int f_n1;            // f.shape[1]
    int new_n1;          // new.shape[1]
};

#define f(i, j) args.f_data[(long long)(i) * args.f_n1 + (j)]
#define new(i, j) args.new_data[(long long)(i) * args.new_n1 + (j)]

// lattice_boltzmann.py:22  def equilibrium(density, u):
// with density = 1.0
static inline vec9 equilibrium(vec2 u) {
    // lattice_boltzmann.py:23  f = ti.Vector.zero(ti.f32, 9)
    vec9 f_ = {0};
    // lattice_boltzmann.py:24  for k in ti.static(range(9)):
    const int E_0[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int E_1[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float W[9] = {0.44444445f, 0.11111111f, 0.11111111f, 0.11111111f, 0.11111111f,
        0.027777778f, 0.027777778f, 0.027777778f, 0.027777778f};
    #pragma GCC unroll 9
    for (int k = 0; k < 9; k++) {
        // lattice_boltzmann.py:25  eu = E[k, 0] * u.x + E[k, 1] * u.y
        float eu = E_0[k] * u.x + E_1[k] * u.y;
        // lattice_boltzmann.py:26  f[k] = W[k] * density * (1 + 3 * eu + 4.5 * eu * eu - 1.5 *
        //     u.dot(u))
        f_.e[k] = W[k] * (1.0f + 3.0f * eu + 4.5f * eu * eu - 1.5f * vec2_dot(u, u));
    }
    // lattice_boltzmann.py:27  return f
    return f_;
}

// lattice_boltzmann.py:36  def velocity(f):
static inline vec2 velocity(vec9 f_) {
    vec2 u = {0.0f, 0.0f};  // :37
    // lattice_boltzmann.py:38  for k in ti.static(range(9)):
    const int E_0[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int E_1[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    #pragma GCC unroll 9
    for (int k = 0; k < 9; k++) {
        // lattice_boltzmann.py:39  u += f[k] * ti.math.vec2(E[k, 0], E[k, 1])
        u = vec2_add(u, vec2_mul_sv(f_.e[k], (vec2){(float)E_0[k], (float)E_1[k]}));
    }
    // lattice_boltzmann.py:40  return u / f.sum()
    return vec2_div_vs(u, vec9_sum(f_));
}

// lattice_boltzmann.py:22  def equilibrium(density, u):
static inline vec9 equilibrium_f32(float density, vec2 u) {
    // lattice_boltzmann.py:23  f = ti.Vector.zero(ti.f32, 9)
    vec9 f_ = {0};
    // lattice_boltzmann.py:24  for k in ti.static(range(9)):
    const int E_0[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int E_1[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const float W[9] = {0.44444445f, 0.11111111f, 0.11111111f, 0.11111111f, 0.11111111f,
        0.027777778f, 0.027777778f, 0.027777778f, 0.027777778f};
    #pragma GCC unroll 9
    for (int k = 0; k < 9; k++) {
        // lattice_boltzmann.py:25  eu = E[k, 0] * u.x + E[k, 1] * u.y
        float eu = E_0[k] * u.x + E_1[k] * u.y;
        // lattice_boltzmann.py:26  f[k] = W[k] * density * (1 + 3 * eu + 4.5 * eu * eu - 1.5 *
        //     u.dot(u))
        f_.e[k] = W[k] * density * (1.0f + 3.0f * eu + 4.5f * eu * eu - 1.5f * vec2_dot(u, u));
    }
    // lattice_boltzmann.py:27  return f
    return f_;
}

// lattice_boltzmann.py:51  for i, j in f:
static inline void task(const struct Args args, int i, int j) {
    // lattice_boltzmann.py:52  pulled = ti.Vector.zero(ti.f32, 9)
    vec9 pulled = {0};
    // lattice_boltzmann.py:53  for k in ti.static(range(9)):  # what flows in; a wall returns what
    //     went to it
    const int E_0[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
    const int E_1[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
    const int OPPOSITE[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
    #pragma GCC unroll 9
    for (int k = 0; k < 9; k++) {
        // lattice_boltzmann.py:54  x, y = i - E[k, 0], (j - E[k, 1] + NY) % NY
        int y = mod_positive_i32(j - E_1[k] + NY, NY), x = i - E_0[k];
        // lattice_boltzmann.py:55  x = ti.math.clamp(x, 0, NX - 1)
        x = min_i32(NX - 1, max_i32(0, x));
        // lattice_boltzmann.py:56  pulled[k] = f[i, j][OPPOSITE[k]] if is_solid(x, y) else
        //     f[x, y][k]
        pulled.e[k] = vec2_length((vec2){x - NX / 5.0f, y - (NY / 2.0f + 1.0f)}) < RADIUS
            ? f(i, j).e[OPPOSITE[k]] : f(x, y).e[k];
    }
    if (i == 0) {  // :57
        // lattice_boltzmann.py:58  pulled = equilibrium(1.0, ti.math.vec2(SPEED, 0.0))
        pulled = equilibrium((vec2){SPEED, 0.0f});
    }
    // lattice_boltzmann.py:59  new[i, j] = pulled + (equilibrium(pulled.sum(), velocity(pulled)) -
    //     pulled) / TAU
    new(i, j) = vec9_add(pulled,
        vec9_div_vs(vec9_sub(equilibrium_f32(vec9_sum(pulled), velocity(pulled)), pulled), TAU));
}

void step_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.f_n0 * args.f_n1 >= 8192)
    for (int i = 0; i < args.f_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.f_n1; j++) {
            task(args, i, j);
        }
    }
}
