// shadesmith 0.1.0, cuda b6b28700, smooth_mesh.py:25: smooth_mesh(weight: f32)

#define BLOCK 128

constexpr int n_verts = 100;  // len(verts)

using vec3 = float3;

__device__ inline vec3 operator+(vec3 a, vec3 b) { return {a.x + b.x, a.y + b.y, a.z + b.z}; }
__device__ inline vec3 operator/(vec3 a, float b) { return {a.x / b, a.y / b, a.z / b}; }
__device__ inline vec3 operator*(float a, vec3 b) { return {a * b.x, a * b.y, a * b.z}; }
__device__ inline vec3 operator-(vec3 a, vec3 b) { return {a.x - b.x, a.y - b.y, a.z - b.z}; }

struct Args {
    const int *__restrict__ vert_verts_begin_data;  // vert_verts_begin: field[i32, 101]
    const int *__restrict__ vert_verts_data;        // vert_verts: field[i32, 588]
    const vec3 *__restrict__ vert_x_data;           // vert_x: field[f32[3], 100]
    vec3 *__restrict__ vert_smooth_data;            // vert_smooth: field[f32[3], 100]
    float weight;                                   // weight: f32
};

#define vert_verts_begin(i) args.vert_verts_begin_data[i]
#define vert_verts(i) args.vert_verts_data[i]
#define vert_x(i) args.vert_x_data[i]
#define vert_smooth(i) args.vert_smooth_data[i]

// smooth_mesh.py:26  for v in verts:
extern "C" __global__ void __launch_bounds__(BLOCK) smooth_mesh_0(const Args args) {
    int v = blockIdx.x * BLOCK + threadIdx.x;
    if (v >= n_verts) return;
    vec3 total = {0.0f, 0.0f, 0.0f};  // :27
    // smooth_mesh.py:28  for u in v.verts:
    int u_end = vert_verts_begin(v + 1);
    vec3 vert_x_v = vert_x(v);
    for (int u_entry = vert_verts_begin(v); u_entry < u_end; u_entry++) {
        int u = vert_verts(u_entry);
        // smooth_mesh.py:29  total += u.x - v.x
        total = total + (vert_x(u) - vert_x_v);
    }
    // smooth_mesh.py:30  v.smooth = v.x + weight * total / v.verts.size
    vert_smooth(v) = vert_x_v + args.weight * total / (float)(u_end - vert_verts_begin(v));
}
