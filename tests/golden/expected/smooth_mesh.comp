// shadesmith 0.1.0, vulkan 40ce7e8b, smooth_mesh.py:25: smooth_mesh(weight: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int n_verts = 100;  // len(verts)

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadI32 { int v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict readonly buffer ReadF32x3 { vec3 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32x3 { vec3 v[]; };
layout(push_constant, scalar) uniform Args {
    ReadI32 vert_verts_begin_data;  // vert_verts_begin: field[i32, 101]
    ReadI32 vert_verts_data;        // vert_verts: field[i32, 588]
    ReadF32x3 vert_x_data;          // vert_x: field[f32[3], 100]
    WriteF32x3 vert_smooth_data;    // vert_smooth: field[f32[3], 100]
    float weight;                   // weight: f32
} args;

#define vert_verts_begin(i) args.vert_verts_begin_data.v[i]
#define vert_verts(i) args.vert_verts_data.v[i]
#define vert_x(i) args.vert_x_data.v[i]
#define vert_smooth(i) args.vert_smooth_data.v[i]

// smooth_mesh.py:26  for v in verts:
void main() {
    int v = int(gl_GlobalInvocationID.x);
    if (v >= n_verts) return;
    vec3 total = vec3(0.0);  // :27
    // smooth_mesh.py:28  for u in v.verts:
    int u_end = vert_verts_begin(v + 1);
    vec3 vert_x_v = vert_x(v);
    for (int u_entry = vert_verts_begin(v); u_entry < u_end; u_entry++) {
        int u = vert_verts(u_entry);
        // smooth_mesh.py:29  total += u.x - v.x
        total += vert_x(u) - vert_x_v;
    }
    // smooth_mesh.py:30  v.smooth = v.x + weight * total / v.verts.size
    vert_smooth(v) = vert_x_v + args.weight * total / float(u_end - vert_verts_begin(v));
}
