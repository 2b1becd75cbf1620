// shadesmith 0.1.0, c 6ad72b8a, gradient_of_scatter.py:10: scatter_grad()

enum { x_n0 = 256 };  // shape of x, v, x_grad, v_grad
enum { momentum_grad_n1 = 64 };  // shape of momentum_grad
enum { N = 64 };  // captured

typedef struct { float x, y; } vec2;
typedef struct { int x, y; } ivec2;

static inline vec2 vec2_add(vec2 a, vec2 b) { return (vec2){a.x + b.x, a.y + b.y}; }
static inline float vec2_dot(vec2 a, vec2 b) { return a.x * b.x + a.y * b.y; }
static inline vec2 vec2_mul_sv(float a, vec2 b) { return (vec2){a * b.x, a * b.y}; }
static inline vec2 vec2_mul(vec2 a, vec2 b) { return (vec2){a.x * b.x, a.y * b.y}; }
static inline vec2 vec2_sub_sv(float a, vec2 b) { return (vec2){a - b.x, a - b.y}; }
static inline vec2 vec2_sub_vs(vec2 a, float b) { return (vec2){a.x - b, a.y - b}; }
static inline vec2 vec2_sub(vec2 a, vec2 b) { return (vec2){a.x - b.x, a.y - b.y}; }

struct Args {
    const vec2 *restrict x_data;              // x: field[f32[2], 256]
    const vec2 *restrict v_data;              // v: field[f32[2], 256]
    vec2 *restrict x_grad_data;               // x_grad: field[f32[2], 256]
    vec2 *restrict v_grad_data;               // v_grad: field[f32[2], 256]
    const vec2 *restrict momentum_grad_data;  // momentum_grad: field[f32[2], 64x64]
};

#define x(i) args.x_data[i]
#define v(i) args.v_data[i]
#define x_grad(i) args.x_grad_data[i]
#define v_grad(i) args.v_grad_data[i]
#define momentum_grad(i, j) args.momentum_grad_data[(long long)(i) * momentum_grad_n1 + (j)]

// gradient_of_scatter.py:11  for p in x:
static inline void task(const struct Args args, int p) {
    // gradient_of_scatter.py:12  base = (x[p] * N - 0.5).cast(int)
    ivec2 base = {(int)(N * x(p).x - 0.5f), (int)(N * x(p).y - 0.5f)};
    // gradient_of_scatter.py:13  fx = x[p] * N - base
    vec2 fx = {N * x(p).x - base.x, N * x(p).y - base.y};
    // gradient_of_scatter.py:14  w =
    //     [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
    vec2 fx_difference = vec2_sub_sv(1.5f, fx), fx_difference_1 = vec2_sub_vs(fx, 1.0f);
    vec2 fx_difference_2 = vec2_sub_vs(fx, 0.5f);
    vec2 w[3] = {vec2_mul_sv(0.5f, vec2_mul(fx_difference, fx_difference)),
        vec2_sub_sv(0.75f, vec2_mul(fx_difference_1, fx_difference_1)),
        vec2_mul_sv(0.5f, vec2_mul(fx_difference_2, fx_difference_2))};
    float w_adj[3][2] = {0};
    // gradient_of_scatter.py:15  for i, j in ti.static(ti.ndrange(3, 3)):
    vec2 v_p = v(p);  // the same in all iterations (hoist_loads)
    vec2 v_grad_p = v_grad(p);
    #pragma GCC unroll 3
    for (int i = 0; i < 3; i++) {
        #pragma GCC unroll 3
        for (int j = 0; j < 3; j++) {
            // adjoint of gradient_of_scatter.py:16  momentum[base + ti.Vector([i, j])] += w[i][0] *
            //     w[j][1] * v[p]
            float momentum_adj_dot_v = vec2_dot(momentum_grad(base.x + i, base.y + j), v_p);
            v_grad_p = vec2_add(v_grad_p,
                vec2_mul_sv(w[i].x * w[j].y, momentum_grad(base.x + i, base.y + j)));
            w_adj[j][1] += momentum_adj_dot_v * w[i].x;
            w_adj[i][0] += momentum_adj_dot_v * w[j].y;
        }
    }
    v_grad(p) = v_grad_p;  // stored once: no other iteration writes it (keep_elements)
    // adjoint of :14
    vec2 fx_adj = vec2_sub(vec2_sub(vec2_mul(fx_difference_2, (vec2){w_adj[2][0], w_adj[2][1]}),
        vec2_mul(vec2_mul_sv(2.0f, fx_difference_1), (vec2){w_adj[1][0], w_adj[1][1]})),
        vec2_mul(fx_difference, (vec2){w_adj[0][0], w_adj[0][1]}));
    x_grad(p) = vec2_add(x_grad(p), vec2_mul_sv((float)N, fx_adj));  // adjoint of :12
}

void scatter_grad_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int p = 0; p < x_n0; p++) {
        task(args, p);
    }
}
