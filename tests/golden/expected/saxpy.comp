// shadesmith 0.1.0, vulkan 8535946f, saxpy.py:4:
// saxpy(x: ndarray[f32, 1], y: ndarray[f32, 1], alpha: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_buffer_reference_uvec2 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;   // x: ndarray[f32, 1]
    F32 y_data;   // y: ndarray[f32, 1]
    float alpha;  // alpha: f32
    int x_n;      // x.shape[0]
} args;

#define x(i) args.x_data.v[i]
#define x4(i) F32x4(args.x_data).v[(i) / 4]
#define y(i) args.y_data.v[i]
#define y4(i) F32x4(args.y_data).v[(i) / 4]

// saxpy.py:5  for i in x:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= (uint(args.x_n) + 3u) / 4u) return;
    int i = int(index) * 4;
    // four iterations at a time, by accesses of 16 bytes (wide_accesses)
    if (uvec2(args.x_data).x % 16u == 0u && uvec2(args.y_data).x % 16u == 0u && i <= args.x_n - 4) {
        // saxpy.py:6  y[i] = alpha * x[i] + y[i]
        y4(i) = args.alpha * x4(i) + y4(i);
    } else {
        // one by one; i + 4 might overflow
        int end = i + min(args.x_n - i, 4);
        for (int ii = i; ii < end; ii++) {
            y(ii) = args.alpha * x(ii) + y(ii);
        }
    }
}
