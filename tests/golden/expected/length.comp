// shadesmith 0.1.0, vulkan f60611b4, length.py:4: length(x: f32, y: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Result {
    float value;  // f32
};
layout(push_constant, scalar) uniform Args {
    Result result;  // what the kernel returns
    float x;        // x: f32
    float y;        // y: f32
} args;

void main() {
    // length.py:5  return ti.sqrt(x * x + y * y)
    args.result.value = sqrt(args.x * args.x + args.y * args.y);
}
