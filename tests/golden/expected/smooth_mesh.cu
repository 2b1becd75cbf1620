// shadesmith 0.1.0, cuda 7c709e63, smooth_mesh.py:25: smooth_mesh(weight: f32)

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
    int first = vert_verts_begin(v), rest = first < u_end ? (u_end - first) & 7 : 0;
    // first what is left of a division by 8: loads of up to 8 iterations are under way together
    //     (rest_first)
    #pragma unroll
    for (int left = 0; left < 7; left++) {
        if (left < rest) {
            int u_entry = first + left, u = vert_verts(u_entry);
            // smooth_mesh.py:29  total += u.x - v.x
            total = total + (vert_x(u) - vert_x_v);
        }
    }
    #pragma unroll 1
    for (int group = first + rest; group < u_end; group += 8) {
        #pragma unroll
        for (int u_entry = group; u_entry < group + 8; u_entry++) {
            int u = vert_verts(u_entry);
            total = total + (vert_x(u) - vert_x_v);
        }
    }
    // smooth_mesh.py:30  v.smooth = v.x + weight * total / v.verts.size
    vert_smooth(v) = vert_x_v + args.weight * total / (float)(u_end - vert_verts_begin(v));
}
