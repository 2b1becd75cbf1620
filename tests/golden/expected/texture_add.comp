// shadesmith 0.1.0, vulkan 64c76d42, texture_add.py:8:
// kernel(in_ten: rw_texture[rgba8, 1], out_ten: rw_texture[rgba8, 1], nsize: i32, addend: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(push_constant, scalar) uniform Args {
    int nsize;   // nsize: i32
    int addend;  // addend: i32
} args;
layout(set = 0, binding = 0, rgba8) uniform readonly image1D in_ten;
layout(set = 0, binding = 1, rgba8) uniform writeonly image1D out_ten;

// texture_add.py:9  for i in ti.ndrange(nsize):
void task(int i) {
    // texture_add.py:10  in_num = in_ten.load(ti.Vector([i]))
    vec4 in_num = imageLoad(in_ten, i);
    // texture_add.py:11  sum_num = in_num + ti.cast(addend, ti.f32) / 255.0
    vec4 sum_num = in_num + args.addend / 255.0;
    // texture_add.py:12  out_ten.store(ti.Vector([i]), sum_num)
    imageStore(out_ten, i, sum_num);
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(max(args.nsize, 0));
        index += gl_NumWorkGroups.x * BLOCK) {
        task(int(index));
    }
}
