// shadesmith 0.1.0, vulkan a0789cbf, texture_sample.py:9:
// kernel(source: texture[f32, 2], mask: texture[f32, 2], labels: rw_texture[rg16u, 2])
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// How to divide by a number of the launch without a division.
struct Divisor { uint multiplier, shift; };

// n / d for n, d up to 2^31; a launch packs `by` for d.
uint divide(uint n, Divisor by) {
    uint high, low;
    umulExtended(n, by.multiplier, high, low);
    return (high + n) >> by.shift;
}

layout(push_constant, scalar) uniform Args {
    int labels_n0;         // labels.shape[0]
    int labels_n1;         // labels.shape[1]
    Divisor by_labels_n1;  // to divide by labels_n1 (launch_divisors)
} args;
layout(set = 0, binding = 0) uniform sampler2D source;
layout(set = 0, binding = 1) uniform sampler2D mask;
layout(set = 0, binding = 2, rg16ui) uniform writeonly uimage2D labels;

// texture_sample.py:10  for i, j in labels:
void task(int i, int j) {
    // texture_sample.py:11  uv = (ti.Vector([i, j]) + 0.5) /
    //     ti.Vector([labels.shape[0], labels.shape[1]])
    vec2 uv = vec2(i + 0.5, j + 0.5) / vec2(ivec2(args.labels_n0, args.labels_n1));
    // texture_sample.py:12  colour = source.sample_lod(uv, 0.0)
    vec4 colour = textureLod(source, uv, 0.0);
    // texture_sample.py:13  if mask.fetch(ti.Vector([i, j]), 0).x > 0.5:
    if (texelFetch(mask, ivec2(i, j), 0).x > 0.5) {
        // texture_sample.py:14  labels.store(ti.Vector([i, j]), ti.cast(colour * 100.0, ti.u32))
        imageStore(labels, ivec2(i, j), uvec4(colour * 100.0));
    }
}

void main() {
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.labels_n0) * uint(args.labels_n1);
        index += gl_NumWorkGroups.x * BLOCK) {
        uint i = divide(index, args.by_labels_n1);
        task(int(i), int(index - i * args.labels_n1));
    }
}
