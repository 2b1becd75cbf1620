// shadesmith 0.1.0, c 96f6d513, wave.py:35: paint(u: ndarray[f32, 2], image: ndarray[f32[3], 2])

enum { N = 384 };  // captured

// The lesser of two, a number if one is NaN. Compilers vectorize it, while `fminf` is a call.
static inline float min_f32(float a, float b) {
    float least = a < b ? a : b;  // `b` if one is NaN
    return b != b ? a : least;
}

// The greater of two, a number if one is NaN. Compilers vectorize it, while `fmaxf` is a call.
static inline float max_f32(float a, float b) {
    float greatest = a > b ? a : b;  // `b` if one is NaN
    return b != b ? a : greatest;
}

static inline int abs_i32(int x) { return x < 0 ? -x : x; }

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const float *u_data;  // u: ndarray[f32, 2]
    vec3 *image_data;     // image: ndarray[f32[3], 2]
    int u_n0;             // u.shape[0]
    int u_n1;             // u.shape[1]
    int image_n1;         // image.shape[1]
};

#define u(i, j) args.u_data[(long long)(i) * args.u_n1 + (j)]
#define image(i, j) args.image_data[(long long)(i) * args.image_n1 + (j)]

// wave.py:36  for i, j in u:
static inline void task(const struct Args args, int i, int j) {
    vec3 warm = {1.0f, 0.75f, 0.35f}, cold = {0.3f, 0.6f, 1.0f};  // :37
    // wave.py:38  image[i, j] = ti.math.vec3(0.4) if is_wall(i, j) else ti.max(u[i, j], 0.0) * warm
    //     - ti.min(u[i, j], 0.0) * cold
    image(i, j) = 120 <= i && i < 126 && abs_i32(abs_i32(j - N / 2) - 36) >= 7 ? (vec3){0.4f, 0.4f,
        0.4f} : vec3_sub(vec3_mul_sv(max_f32(u(i, j), 0.0f), warm),
        vec3_mul_sv(min_f32(u(i, j), 0.0f), cold));
}

void paint_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.u_n0 * args.u_n1 >= 8192)
    for (int i = 0; i < args.u_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.u_n1; j++) {
            task(args, i, j);
        }
    }
}
