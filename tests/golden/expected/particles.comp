// ===== particles_0.comp
// shadesmith 0.1.0, vulkan 3a184c67, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

layout(local_size_x = 1) in;

struct Particle {
    vec3 pos, vel;
    uint8_t alive;
};

struct Plane {
    vec3 normal;
    float offset;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer ParticleBuffer { Particle v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    Plane highest;  // Plane
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Result {
    Plane value;  // Plane
};
layout(push_constant, scalar) uniform Args {
    ParticleBuffer x_data;    // x: ndarray[Particle, 1]
    Temporaries temporaries;  // values that cross tasks
    Result result;            // what the kernel returns
    vec3 floor_normal;        // floor.normal: f32[3]
    float floor_offset;       // floor.offset: f32
    float dt;                 // dt: f32
    int x_n;                  // x.shape[0]
} args;

// task 0 of 2: serial
void main() {
    // particles.py:19  highest = Plane(offset=-1e9)
    args.temporaries.highest = Plane(vec3(0.0), -1e9);
}

// ===== particles_1.comp
// shadesmith 0.1.0, vulkan 9c88f75e, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

#define BLOCK 128
#define MAX_BLOCKS 1056u  // that store partial results
layout(local_size_x = BLOCK) in;

shared float of_block_f32[BLOCK];

// The greatest of the values of a block's threads, in the first; all threads call it.
float block_max(float value) {
    uint thread = gl_LocalInvocationIndex;
    of_block_f32[thread] = value;
    barrier();
    for (uint left = BLOCK; left > 1; left = (left + 1) / 2) {
        uint other = thread + (left + 1) / 2;
        if (other < left) {
            value = max(value, of_block_f32[other]);
            of_block_f32[thread] = value;
        }
        barrier();
    }
    return value;
}

struct Particle {
    vec3 pos, vel;
    uint8_t alive;
};

struct Plane {
    vec3 normal;
    float offset;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer ParticleBuffer { Particle v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Temporaries {
    Plane highest;                         // Plane
    uint blocks_done;                      // u32
    float highest_offset_of_blocks[1056];  // f32
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Result {
    Plane value;  // Plane
};
layout(push_constant, scalar) uniform Args {
    ParticleBuffer x_data;    // x: ndarray[Particle, 1]
    Temporaries temporaries;  // values that cross tasks
    Result result;            // what the kernel returns
    vec3 floor_normal;        // floor.normal: f32[3]
    float floor_offset;       // floor.offset: f32
    float dt;                 // dt: f32
    int x_n;                  // x.shape[0]
} args;

#define x(i) args.x_data.v[i]

shared bool is_last;

// task 1 of 2: range_for over x
// particles.py:20  for i in x:
void task(int i, inout float highest_offset) {
    Particle p = x(i);  // :21
    // particles.py:15  self.pos += self.vel * dt
    p.pos += p.vel * args.dt;
    float height = dot(args.floor_normal, p.pos) - args.floor_offset;  // :23
    p.alive = uint8_t(bool(p.alive) && height > 0.0);  // :24
    x(i) = p;  // :25
    x(i).vel.y -= 9.8 * args.dt;  // :26, not atomic: no other iteration writes it (demote_atomics)
    // particles.py:27  ti.atomic_max(highest.offset, height)
    highest_offset = max(highest_offset, height);  // not atomic: joined below (reduce_atomics)
}

void main() {
    // The last block joins the results of all, in a fixed order: each run gives the same bits.
    uint blocks = min(gl_NumWorkGroups.x, MAX_BLOCKS);
    if (gl_WorkGroupID.x >= blocks) {
        return;
    }
    float highest_offset = uintBitsToFloat(0x7fc00000u);  // NaN loses against every number
    for (uint index = gl_GlobalInvocationID.x; index < uint(args.x_n); index += blocks * BLOCK) {
        task(int(index), highest_offset);
    }
    highest_offset = block_max(highest_offset);
    if (gl_LocalInvocationIndex == 0) {
        args.temporaries.highest_offset_of_blocks[gl_WorkGroupID.x] = highest_offset;
    }
    memoryBarrierBuffer();
    if (gl_LocalInvocationIndex == 0) {
        is_last = atomicAdd(args.temporaries.blocks_done, 1u) == blocks - 1;
    }
    barrier();
    memoryBarrierBuffer();
    if (is_last) {
        highest_offset = uintBitsToFloat(0x7fc00000u);
        for (uint i = gl_LocalInvocationIndex; i < blocks; i += BLOCK) {
            highest_offset = max(highest_offset, args.temporaries.highest_offset_of_blocks[i]);
        }
        highest_offset = block_max(highest_offset);
        if (gl_LocalInvocationIndex == 0) {
            args.temporaries.blocks_done = 0u;
            args.temporaries.highest.offset = max(args.temporaries.highest.offset, highest_offset);
            // particles.py:28  return highest
            args.result.value = args.temporaries.highest;
        }
    }
}
