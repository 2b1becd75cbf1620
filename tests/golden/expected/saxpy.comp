// shadesmith 0.1.0, vulkan bde05686, saxpy.py:4:
// saxpy(x: ndarray[f32, 1], y: ndarray[f32, 1], alpha: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(push_constant, scalar) uniform Args {
    F32 x_data;   // x: ndarray[f32, 1]
    F32 y_data;   // y: ndarray[f32, 1]
    float alpha;  // alpha: f32
    int x_n;      // x.shape[0]
} args;

#define x(i) args.x_data.v[i]
#define y(i) args.y_data.v[i]

// saxpy.py:5  for i in x:
void task(int i) {
    y(i) = args.alpha * x(i) + y(i);  // :6
}

void main() {
    uint count = uint(args.x_n);
    uint stride = gl_NumWorkGroups.x * BLOCK;
    for (uint index = gl_GlobalInvocationID.x; index < count; index += stride) {
        task(int(index));
    }
}
