// shadesmith 0.1.0, c e983a22f, mpm3d.py:37: scatter()
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum { mass_n0 = 40, mass_n1 = 40, mass_n2 = 40 };  // shape of mass, momentum
enum { particles_n0 = 12000 };  // shape of particles
// captured
static const float SPACING = 0.025f, MU = 300.0f, LAMBDA = 500.0f, VOLUME = 1.953125e-6f;
static const float STEP_VOLUME_SPACING = -3.125e-6f;  // -STEP * VOLUME * 4 / SPACING ** 2

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

static inline uint32_t f32_bits_to_u32(float x) {
    union { float number; uint32_t bits; } both = {x};
    return both.bits;
}

// a * b - c * d to the last digits, also if the products nearly cancel. Source: Kahan; Jeannerod et
// al., "Further Analysis of Kahan's Algorithm for the Accurate Computation of 2x2 Determinants"
// (2013).
static inline float cross_f32(float a, float b, float c, float d) {
    float other = c * d;
    return fmaf(a, b, -other) + fmaf(-c, d, other);
}

// The number of threads for a loop in which each thread has copies of arrays.
static inline int threads_up_to(int most) {
#ifdef _OPENMP
    extern int omp_get_max_threads(void);
    return omp_get_max_threads() < most ? omp_get_max_threads() : most;
#else
    return most < 1 ? most : 1;
#endif
}

static inline int thread_number(void) {
#ifdef _OPENMP
    extern int omp_get_thread_num(void);
    return omp_get_thread_num();
#else
    return 0;
#endif
}

static inline int thread_count(void) {
#ifdef _OPENMP
    extern int omp_get_num_threads(void);
    return omp_get_num_threads();
#else
    return 1;
#endif
}

// Numbers between the copies of an array: an index that misses by a row reaches no other copy.
#define PADDING 16384

// The copy of an array that the calling thread adds to. It starts at -0.0, which changes no number.
static inline void *start_sums_f32(void *copies, long long count) {
    float *sums = (float *)copies + thread_number() * (count + PADDING);
    for (long long k = 0; k < count; k++) {
        sums[k] = -0.0f;
    }
    return sums;
}

// So many elements of an array are skipped at once if no thread has added to them.
#define SKIPPED 16

// Adds the copies of all threads to the array, which other launches may change at the same time.
static inline void join_sums_f32(void *array, const void *copies, long long count) {
    const uint32_t nothing = f32_bits_to_u32(-0.0f);  // compilers need not tell it from 0
    const long long threads = thread_count();
    #pragma omp for schedule(static) nowait
    for (long long first = 0; first < count; first += SKIPPED) {
        float *to = (float *)array + first, sums[SKIPPED];
        for (int k = 0; k < SKIPPED; k++) {
            sums[k] = -0.0f;
        }
        for (long long thread = 0; thread < threads; thread++) {
            const float *from = (const float *)copies + thread * (count + PADDING) + first;
            for (int k = 0; k < SKIPPED; k++) {
                sums[k] += from[k];
            }
        }
        bool is_changed = false;
        for (int k = 0; k < SKIPPED; k++) {
            is_changed |= f32_bits_to_u32(sums[k]) != nothing;
        }
        for (int k = 0; is_changed && k < SKIPPED && first + k < count; k++) {
            if (f32_bits_to_u32(sums[k]) != nothing) {
                #pragma omp atomic
                to[k] += sums[k];
            }
        }
    }
}

typedef struct { float x, y, z; } vec3;
typedef struct { float m[3][3]; } mat3;  // 3 rows of 3
typedef struct { int x, y, z; } ivec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }

static inline mat3 mat3_add(mat3 a, mat3 b) {
    return (mat3){{{a.m[0][0] + b.m[0][0], a.m[0][1] + b.m[0][1], a.m[0][2] + b.m[0][2]},
        {a.m[1][0] + b.m[1][0], a.m[1][1] + b.m[1][1], a.m[1][2] + b.m[1][2]},
        {a.m[2][0] + b.m[2][0], a.m[2][1] + b.m[2][1], a.m[2][2] + b.m[2][2]}}};
}

static inline ivec3 ivec3_from_vec3(vec3 a) { return (ivec3){(int)a.x, (int)a.y, (int)a.z}; }
static inline vec3 vec3_from_ivec3(ivec3 a) { return (vec3){(float)a.x, (float)a.y, (float)a.z}; }

static inline float mat3_determinant(mat3 a) {
    return a.m[0][0] * cross_f32(a.m[1][1], a.m[2][2], a.m[1][2], a.m[2][1])
        + a.m[0][1] * cross_f32(a.m[1][2], a.m[2][0], a.m[1][0], a.m[2][2])
        + a.m[0][2] * cross_f32(a.m[1][0], a.m[2][1], a.m[1][1], a.m[2][0]);
}

static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }

static inline vec3 mat3_matmul_vec3(mat3 a, vec3 b) {
    return (vec3){a.m[0][0] * b.x + a.m[0][1] * b.y + a.m[0][2] * b.z,
        a.m[1][0] * b.x + a.m[1][1] * b.y + a.m[1][2] * b.z,
        a.m[2][0] * b.x + a.m[2][1] * b.y + a.m[2][2] * b.z};
}

static inline mat3 mat3_matmul(mat3 a, mat3 b) {
    return (mat3){{{a.m[0][0] * b.m[0][0] + a.m[0][1] * b.m[1][0] + a.m[0][2] * b.m[2][0],
        a.m[0][0] * b.m[0][1] + a.m[0][1] * b.m[1][1] + a.m[0][2] * b.m[2][1],
        a.m[0][0] * b.m[0][2] + a.m[0][1] * b.m[1][2] + a.m[0][2] * b.m[2][2]},
        {a.m[1][0] * b.m[0][0] + a.m[1][1] * b.m[1][0] + a.m[1][2] * b.m[2][0],
        a.m[1][0] * b.m[0][1] + a.m[1][1] * b.m[1][1] + a.m[1][2] * b.m[2][1],
        a.m[1][0] * b.m[0][2] + a.m[1][1] * b.m[1][2] + a.m[1][2] * b.m[2][2]},
        {a.m[2][0] * b.m[0][0] + a.m[2][1] * b.m[1][0] + a.m[2][2] * b.m[2][0],
        a.m[2][0] * b.m[0][1] + a.m[2][1] * b.m[1][1] + a.m[2][2] * b.m[2][1],
        a.m[2][0] * b.m[0][2] + a.m[2][1] * b.m[1][2] + a.m[2][2] * b.m[2][2]}}};
}

static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }

static inline mat3 mat3_mul_sm(float a, mat3 b) {
    return (mat3){{{a * b.m[0][0], a * b.m[0][1], a * b.m[0][2]},
        {a * b.m[1][0], a * b.m[1][1], a * b.m[1][2]},
        {a * b.m[2][0], a * b.m[2][1], a * b.m[2][2]}}};
}

static inline vec3 vec3_mul(vec3 a, vec3 b) { return (vec3){a.x * b.x, a.y * b.y, a.z * b.z}; }
static inline vec3 vec3_sub_sv(float a, vec3 b) { return (vec3){a - b.x, a - b.y, a - b.z}; }
static inline vec3 vec3_sub_vs(vec3 a, float b) { return (vec3){a.x - b, a.y - b, a.z - b}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

static inline mat3 mat3_sub(mat3 a, mat3 b) {
    return (mat3){{{a.m[0][0] - b.m[0][0], a.m[0][1] - b.m[0][1], a.m[0][2] - b.m[0][2]},
        {a.m[1][0] - b.m[1][0], a.m[1][1] - b.m[1][1], a.m[1][2] - b.m[1][2]},
        {a.m[2][0] - b.m[2][0], a.m[2][1] - b.m[2][1], a.m[2][2] - b.m[2][2]}}};
}

static inline mat3 mat3_transpose(mat3 a) {
    return (mat3){{{a.m[0][0], a.m[1][0], a.m[2][0]},
        {a.m[0][1], a.m[1][1], a.m[2][1]},
        {a.m[0][2], a.m[1][2], a.m[2][2]}}};
}

typedef struct {
    vec3 x, v;
    mat3 C, F;
} Particle;
_Static_assert(sizeof(Particle) == 96, "must match the size on the host");

struct Temporaries {
    float momentum_copies[4167680];  // f32
    float mass_copies[1607680];      // f32
};

struct Args {
    float *restrict mass_data;                // mass: field[f32, 40x40x40]
    vec3 *restrict momentum_data;             // momentum: field[f32[3], 40x40x40]
    const Particle *restrict particles_data;  // particles: field[Particle, 12000]
    struct Temporaries *temporaries;          // values that cross tasks
};

#define mass(i, j, k) args.mass_data[((long long)(i) * mass_n1 + (j)) * mass_n2 + (k)]
#define momentum(i, j, k) args.momentum_data[((long long)(i) * mass_n1 + (j)) * mass_n2 + (k)]
#define particles(i) args.particles_data[i]

// task 0 of 2: range_for over mass
// mpm3d.py:38  for I in ti.grouped(mass):
static inline void task_0(const struct Args args, int I_0, int I_1, int I_2) {
    // mpm3d.py:39  mass[I], momentum[I] = 0.0, vec3(0.0)
    mass(I_0, I_1, I_2) = 0.0f;
    momentum(I_0, I_1, I_2) = (vec3){0.0f, 0.0f, 0.0f};
}

void scatter_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) collapse(2) schedule(static)
    for (int I_0 = 0; I_0 < mass_n0; I_0++) {
        for (int I_1 = 0; I_1 < mass_n1; I_1++) {
            #pragma omp simd
            for (int I_2 = 0; I_2 < mass_n2; I_2++) {
                task_0(args, I_0, I_1, I_2);
            }
        }
    }
}

// task 1 of 2: range_for over particles
// mpm3d.py:40  for p in particles:
static inline void task_1(const struct Args args, int p) {
    // mpm3d.py:41  base = int(particles[p].x / SPACING - 0.5)
    vec3 particles_ratio = vec3_div_vs(particles(p).x, SPACING);
    ivec3 base = ivec3_from_vec3(vec3_sub_vs(particles_ratio, 0.5f));
    // mpm3d.py:42  offset = particles[p].x / SPACING - base
    vec3 offset = vec3_sub(particles_ratio, vec3_from_ivec3(base));
    // mpm3d.py:43  w, F = weights(offset), particles[p].F
    mat3 F = particles(p).F;
    vec3 w[3] = {vec3_mul_sv(0.5f, vec3_mul(vec3_sub_sv(1.5f, offset), vec3_sub_sv(1.5f, offset))),
        vec3_sub_sv(0.75f, vec3_mul(vec3_sub_vs(offset, 1.0f), vec3_sub_vs(offset, 1.0f))),
        vec3_mul_sv(0.5f, vec3_mul(vec3_sub_vs(offset, 0.5f), vec3_sub_vs(offset, 0.5f)))};
    // mpm3d.py:44  J = F.determinant()
    float J = mat3_determinant(F);
    // mpm3d.py:45  stress = MU * (F @ F.transpose() - ti.math.eye(3)) + ti.math.eye(3) * (LAMBDA *
    //     ti.log(ti.max(J, 0.1)))
    float product = LAMBDA * logf(max_f32(J, 0.1f));
    mat3 stress = mat3_add(mat3_mul_sm(MU,
        mat3_sub(mat3_matmul(F, mat3_transpose(F)),
        (mat3){{{1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}}})),
        (mat3){{{product, 0.0f, 0.0f}, {0.0f, product, 0.0f}, {0.0f, 0.0f, product}}});
    // mpm3d.py:46  push = -STEP * VOLUME * 4 / SPACING**2 * stress + VOLUME * particles[p].C
    mat3 push = mat3_add(mat3_mul_sm(STEP_VOLUME_SPACING, stress),
        mat3_mul_sm(VOLUME, particles(p).C));
    // mpm3d.py:47  for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
    vec3 particles_v = particles(p).v;  // the same in all iterations (hoist_loads)
    #pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        #pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            #pragma GCC unroll 3
            for (int k = 0; k < 3; k++) {
                float share = w[i].x * w[j].y * w[k].z;  // :49
                // mpm3d.py:50  momentum[base + node] += share * (VOLUME * particles[p].v + push @
                //     ((node - offset) * SPACING))
                // not atomic: each thread has a copy (private_sums)
                momentum(base.x + i, base.y + j, base.z + k) = vec3_add(momentum(base.x + i,
                    base.y + j, base.z + k), vec3_mul_sv(share, vec3_add(vec3_mul_sv(VOLUME,
                    particles_v), mat3_matmul_vec3(push, vec3_mul_sv(SPACING,
                    vec3_sub((vec3){(float)i, (float)j, (float)k}, offset))))));
                // mpm3d.py:51  mass[base + node] += share * VOLUME
                // not atomic: each thread has a copy (private_sums)
                mass(base.x + i, base.y + j, base.z + k) += share * VOLUME;
            }
        }
    }
}

void scatter_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    // Each thread adds to copies of its own, since atomic additions take longer.
    #pragma omp parallel firstprivate(args) num_threads(threads_up_to(20))
    {
        struct Args own = args;
        own.momentum_data = start_sums_f32(args.temporaries->momentum_copies,
            mass_n0 * mass_n1 * mass_n2 * 3);
        own.mass_data = start_sums_f32(args.temporaries->mass_copies, mass_n0 * mass_n1 * mass_n2);
        #pragma omp for schedule(static)
        for (int p = 0; p < particles_n0; p++) {
            task_1(own, p);
        }
        join_sums_f32(args.momentum_data, args.temporaries->momentum_copies,
            mass_n0 * mass_n1 * mass_n2 * 3);
        join_sums_f32(args.mass_data, args.temporaries->mass_copies, mass_n0 * mass_n1 * mass_n2);
    }
}
