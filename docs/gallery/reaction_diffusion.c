// shadesmith 0.1.0, c 19516931, reaction_diffusion.py:22:
// react(c: ndarray[f32[2], 2], new: ndarray[f32[2], 2])

enum { N = 256 };  // captured
static const float FEED = 0.055f, KILL = 0.062f;  // captured

// Python's % for a positive divisor.
static inline int mod_positive_i32(int a, int b) {
    int remainder = a % b;
    return remainder + (remainder < 0 ? b : 0);
}

typedef struct { float x, y; } vec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *c_data;  // c: ndarray[f32[2], 2]
    vec2 *new_data;      // new: ndarray[f32[2], 2]
    int c_n0;            // c.shape[0]
    int c_n1;            // c.shape[1]
    int new_n1;          // new.shape[1]
};

#define c(i, j) args.c_data[(long long)(i) * args.c_n1 + (j)]
#define new(i, j) args.new_data[(long long)(i) * args.new_n1 + (j)]

// reaction_diffusion.py:23  for i, j in c:
static inline void task(const struct Args args, int i, int j) {
    // reaction_diffusion.py:24  left, right, down, up = (i + N - 1) % N, (i + 1) % N, (j + N - 1) %
    //     N, (j + 1) % N
    int left = mod_positive_i32(i + N - 1, N), right = (i + 1) % N;
    int down = mod_positive_i32(j + N - 1, N), up = (j + 1) % N;
    // reaction_diffusion.py:25  sides = c[left, j] + c[right, j] + c[i, down] + c[i, up]
    vec2 sides = vec2_add(vec2_add(vec2_add(c(left, j), c(right, j)), c(i, down)), c(i, up));
    // reaction_diffusion.py:26  corners = c[left, down] + c[left, up] + c[right, down] +
    //     c[right, up]
    vec2 corners = vec2_add(vec2_add(vec2_add(c(left, down), c(left, up)), c(right, down)),
        c(right, up));
    // reaction_diffusion.py:27  spread = 0.2 * sides + 0.05 * corners - c[i, j]
    vec2 spread = vec2_sub(vec2_add(vec2_mul_sv(0.2f, sides), vec2_mul_sv(0.05f, corners)),
        c(i, j));
    // reaction_diffusion.py:28  u, v = c[i, j]
    float u = c(i, j).x, v = c(i, j).y;
    float reaction = u * v * v;  // :29
    // reaction_diffusion.py:30  new[i, j] = ti.math.vec2( ...
    new(i, j) = (vec2){u + spread.x - reaction + FEED * (1.0f - u),
        v + 0.5f * spread.y + reaction - (FEED + KILL) * v};
}

void react_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)args.c_n0 * args.c_n1 >= 8192)
    for (int i = 0; i < args.c_n0; i++) {
        #pragma omp simd
        for (int j = 0; j < args.c_n1; j++) {
            task(args, i, j);
        }
    }
}
