// shadesmith 0.1.0, c be19b938, smooth_mesh.py:25: smooth_mesh(weight: f32)

enum { n_verts = 100 };  // len(verts)

// Vectors of 16 bytes, for sums of elements at indices that are loaded: gcc would gather them into
// wider vectors, which takes longer.
#define SHORT_VECTORS
#if defined(__x86_64__) && __GNUC__ >= 8 && !defined(__clang__)
#undef SHORT_VECTORS
#define SHORT_VECTORS __attribute__((target("prefer-vector-width=128")))
#endif

typedef struct { float x, y, z; } vec3;

static inline vec3 vec3_add(vec3 a, vec3 b) { return (vec3){a.x + b.x, a.y + b.y, a.z + b.z}; }
static inline vec3 vec3_div_vs(vec3 a, float b) { return (vec3){a.x / b, a.y / b, a.z / b}; }
static inline vec3 vec3_mul_sv(float a, vec3 b) { return (vec3){a * b.x, a * b.y, a * b.z}; }
static inline vec3 vec3_sub(vec3 a, vec3 b) { return (vec3){a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const int *restrict vert_verts_begin_data;  // vert_verts_begin: field[i32, 101]
    const int *restrict vert_verts_data;        // vert_verts: field[i32, 588]
    const vec3 *restrict vert_x_data;           // vert_x: field[f32[3], 100]
    vec3 *restrict vert_smooth_data;            // vert_smooth: field[f32[3], 100]
    float weight;                               // weight: f32
};

#define vert_verts_begin(i) args.vert_verts_begin_data[i]
#define vert_verts(i) args.vert_verts_data[i]
#define vert_x(i) args.vert_x_data[i]
#define vert_smooth(i) args.vert_smooth_data[i]

// smooth_mesh.py:26  for v in verts:
static inline void task(const struct Args args, int v) {
    vec3 total = {0.0f, 0.0f, 0.0f};  // :27
    // smooth_mesh.py:28  for u in v.verts:
    int u_end = vert_verts_begin(v + 1);
    for (int u_entry = vert_verts_begin(v); u_entry < u_end; u_entry++) {
        int u = vert_verts(u_entry);
        // smooth_mesh.py:29  total += u.x - v.x
        total = vec3_add(total, vec3_sub(vert_x(u), vert_x(v)));
    }
    // smooth_mesh.py:30  v.smooth = v.x + weight * total / v.verts.size
    vert_smooth(v) = vec3_add(vert_x(v),
        vec3_div_vs(vec3_mul_sv(args.weight, total), (float)(u_end - vert_verts_begin(v))));
}

SHORT_VECTORS void smooth_mesh_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int v = 0; v < n_verts; v++) {
        task(args, v);
    }
}
