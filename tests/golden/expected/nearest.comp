// shadesmith 0.1.0, vulkan f2dd42b5, nearest.py:24:
// search(points: ndarray[f32[2], 1], found: ndarray[i32, 1])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer F32x2 { vec2 v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    F32x2 points_data;  // points: ndarray[f32[2], 1]
    I32 found_data;     // found: ndarray[i32, 1]
    int points_n;       // points.shape[0]
    int found_n;        // found.shape[0]
} args;

#define points(i) args.points_data.v[i]
#define found(i) args.found_data.v[i]

struct nearest_results {
    int k;
    float d;
};

// nearest.py:6  def distance(a: vec2, b: vec2) -> ti.f32:
float distance_(vec2 a, vec2 b) {
    // nearest.py:7  return (a - b).norm()
    return length(a - b);
}

// nearest.py:11  def nearest(points: ti.types.ndarray(dtype=vec2, ndim=1), p: vec2, visited:
//     ti.ref(ti.i32)) -> (ti.i32, ti.f32):
nearest_results nearest(vec2 p, inout int visited) {
    int best = -1;  // :12
    float least = 1e9;  // :13
    // nearest.py:14  for k in range(points.shape[0]):
    for (int k = 0; k < args.points_n; k++) {
        // nearest.py:15  d = distance(points[k], p)
        float d = distance_(points(k), p);
        if (d < 1e-6) {  // :16
            // nearest.py:17  return k, d
            return nearest_results(k, d);
        }
        if (d < least) {  // :18
            // nearest.py:19  best, least = k, d
            best = k;
            least = d;
        }
        visited += 1;  // :20
    }
    // nearest.py:21  return best, least
    return nearest_results(best, least);
}

// nearest.py:25  for i in found:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.found_n)) return;
    int i = int(index);
    int visited = 0;  // :26
    // nearest.py:27  k, d = nearest(points, vec2(i, 0), visited)
    nearest_results results = nearest(vec2(i, 0.0), visited);
    int k = results.k;
    float d = results.d;
    found(i) = d < 2.0 ? k : -visited;  // :28
}
