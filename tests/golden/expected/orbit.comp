// ===== orbit_0.comp
// shadesmith 0.1.0, vulkan b34cad54, orbit.py:37: orbit(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int bodies_n0 = 512;  // bodies.shape[0]

struct Body {
    vec3 pos, vel;
    float mass;
};

struct Bodies {
    vec3 pos[512];
    vec3 vel[512];
    float mass[512];
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer BodiesBuffer { Bodies v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    Body heaviest;  // Body
};
layout(push_constant, scalar) uniform Args {
    BodiesBuffer bodies;      // bodies_pos, bodies_vel: field[f32[3], 512], bodies_mass:
                              // field[f32, 512]
    WriteF32 energy_data;     // energy: field[f32, 512]
    Temporaries temporaries;  // values that cross tasks
    float dt;                 // dt: f32
} args;

#define bodies_pos(i) args.bodies.v[0].pos[i]
#define bodies_vel(i) args.bodies.v[0].vel[i]
#define bodies_mass(i) args.bodies.v[0].mass[i]
#define energy(i) args.energy_data.v[i]

// task 0 of 3: range_for over bodies
// orbit.py:38  for i in bodies:
void main() {
    int i = int(gl_GlobalInvocationID.x);
    if (i >= bodies_n0) return;
    // orbit.py:39  bodies[i].vel -= bodies[i].pos * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_vel(i) -= bodies_pos(i) * args.dt;
    // orbit.py:40  bodies.pos[i] += bodies[i].vel * dt
    // not atomic: no other iteration writes it (demote_atomics)
    bodies_pos(i) += bodies_vel(i) * args.dt;
    // orbit.py:41  energy[i] = bodies[i].energy()
    energy(i) = 0.5 * bodies_mass(i) * dot(bodies_vel(i), bodies_vel(i));
}

// ===== orbit_1.comp
// shadesmith 0.1.0, vulkan 83f1e514, orbit.py:37: orbit(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

layout(local_size_x = 1) in;

struct Body {
    vec3 pos, vel;
    float mass;
};

struct Bodies {
    vec3 pos[512];
    vec3 vel[512];
    float mass[512];
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer BodiesBuffer { Bodies v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Temporaries {
    Body heaviest;  // Body
};
layout(push_constant, scalar) uniform Args {
    BodiesBuffer bodies;      // bodies_pos, bodies_vel: field[f32[3], 512], bodies_mass:
                              // field[f32, 512]
    WriteF32 energy_data;     // energy: field[f32, 512]
    Temporaries temporaries;  // values that cross tasks
    float dt;                 // dt: f32
} args;

#define bodies_pos(i) args.bodies.v[0].pos[i]
#define bodies_vel(i) args.bodies.v[0].vel[i]
#define bodies_mass(i) args.bodies.v[0].mass[i]

// task 1 of 3: serial
void main() {
    // orbit.py:42  heaviest = bodies[0]
    args.temporaries.heaviest = Body(bodies_pos(0), bodies_vel(0), bodies_mass(0));
}

// ===== orbit_2.comp
// shadesmith 0.1.0, vulkan 8172b576, orbit.py:37: orbit(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

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

struct Body {
    vec3 pos, vel;
    float mass;
};

struct Bodies {
    vec3 pos[512];
    vec3 vel[512];
    float mass[512];
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer BodiesBuffer { Bodies v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict writeonly buffer WriteF32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer Temporaries {
    Body heaviest;                        // Body
    uint blocks_done;                     // u32
    float heaviest_mass_of_blocks[1056];  // f32
};
layout(push_constant, scalar) uniform Args {
    BodiesBuffer bodies;      // bodies_pos, bodies_vel: field[f32[3], 512], bodies_mass:
                              // field[f32, 512]
    WriteF32 energy_data;     // energy: field[f32, 512]
    Temporaries temporaries;  // values that cross tasks
    float dt;                 // dt: f32
} args;

#define bodies_pos(i) args.bodies.v[0].pos[i]
#define bodies_vel(i) args.bodies.v[0].vel[i]
#define bodies_mass(i) args.bodies.v[0].mass[i]

shared bool is_last;

// task 2 of 3: range_for over i
// orbit.py:43  for i in range(512):
void task(int i, inout float heaviest_mass) {
    // orbit.py:44  ti.atomic_max(heaviest.mass, bodies.mass[i])
    // not atomic: joined below (reduce_atomics)
    heaviest_mass = max(heaviest_mass, bodies_mass(i));
}

void main() {
    // The last block joins the results of all, in a fixed order: each run gives the same bits.
    uint blocks = min(gl_NumWorkGroups.x, MAX_BLOCKS);
    if (gl_WorkGroupID.x >= blocks) {
        return;
    }
    float heaviest_mass = uintBitsToFloat(0x7fc00000u);  // NaN loses against every number
    for (uint index = gl_GlobalInvocationID.x; index < 512; index += blocks * BLOCK) {
        task(int(index), heaviest_mass);
    }
    heaviest_mass = block_max(heaviest_mass);
    if (gl_LocalInvocationIndex == 0) {
        args.temporaries.heaviest_mass_of_blocks[gl_WorkGroupID.x] = heaviest_mass;
    }
    memoryBarrierBuffer();
    if (gl_LocalInvocationIndex == 0) {
        is_last = atomicAdd(args.temporaries.blocks_done, 1u) == blocks - 1;
    }
    barrier();
    memoryBarrierBuffer();
    if (is_last) {
        heaviest_mass = uintBitsToFloat(0x7fc00000u);
        for (uint i = gl_LocalInvocationIndex; i < blocks; i += BLOCK) {
            heaviest_mass = max(heaviest_mass, args.temporaries.heaviest_mass_of_blocks[i]);
        }
        heaviest_mass = block_max(heaviest_mass);
        if (gl_LocalInvocationIndex == 0) {
            args.temporaries.blocks_done = 0u;
            args.temporaries.heaviest.mass = max(args.temporaries.heaviest.mass, heaviest_mass);
            // orbit.py:45  bodies[1] = heaviest
            Body heaviest = args.temporaries.heaviest;
            bodies_pos(1) = heaviest.pos;
            bodies_vel(1) = heaviest.vel;
            bodies_mass(1) = heaviest.mass;
        }
    }
}
