// shadesmith 0.1.0, vulkan 0ddc288e, pi.py:4: pi(hits: ndarray[i32, 1], tries: i32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

struct Random { uint seed, index, draws; };

// seed: of the launch and task; index: of the thread.
Random random_start(uint seed, uint index) { return Random(seed, index, 0u); }

// The next 64 random bits.
uvec2 random_bits(inout Random rng) {
    uint x = rng.draws++;
    uint y = rng.index;
    uint key = rng.seed;
    for (int i = 0; i < 10; i++) {
        uint high;
        uint low;
        umulExtended(x, 0xD256D193u, high, low);
        x = high ^ key ^ y;
        y = low;
        key += 0x9E3779B9u;
    }
    return uvec2(x, y);
}

// Uniform in [0, 1), a multiple of 2^-24.
float random_f32(inout Random rng) {
    return float(random_bits(rng).x >> 8) * 5.9604644775390625e-08;
}

layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer I32 { int v[]; };
layout(push_constant, scalar) uniform Args {
    I32 hits_data;  // hits: ndarray[i32, 1]
    int tries;      // tries: i32
    int hits_n;     // hits.shape[0]
    uint seed;      // seed of the random numbers of this launch
} args;

#define hits(i) args.hits_data.v[i]

// pi.py:5  for i in hits:
void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index >= uint(args.hits_n)) return;
    int i = int(index);
    Random rng = random_start(args.seed, index);
    // pi.py:6  for _ in range(tries):
    int hits_i = hits(i);
    for (int j = 0; j < args.tries; j++) {
        // pi.py:7  x = ti.random()
        float x = random_f32(rng);
        // pi.py:8  y = ti.random()
        float y = random_f32(rng);
        if (x * x + y * y < 1.0) {  // :9
            // pi.py:10  hits[i] += 1
            hits_i += 1;
        }
    }
    hits(i) = hits_i;  // stored once: no other iteration writes it (keep_elements)
}
