// ===== particles_0.comp
// shadesmith 0.1.0, vulkan c46d5896, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

layout(local_size_x = 1) in;

struct Particle {
    vec3 pos;
    vec3 vel;
    uint8_t alive;
};

struct Plane {
    vec3 normal;
    float offset;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer ParticleBuffer { Particle v[]; };
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

// task 0 of 3: serial
void task() {
    // particles.py:19  highest = Plane(offset=-1e9)
    args.temporaries.highest = Plane(vec3(0.0), -1e9);
}

void main() {
    task();
}

// ===== particles_1.comp
// shadesmith 0.1.0, vulkan 6887f876, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer AtomicU32 {
    uint v[];
};

float atomic_max_f32(AtomicU32 data, uint index, float value) {
    uint old = data.v[index];
    uint assumed;
    do {
        assumed = old;
        float next = max(uintBitsToFloat(assumed), value);
        old = atomicCompSwap(data.v[index], assumed, floatBitsToUint(next));
    } while (old != assumed);
    return uintBitsToFloat(old);
}

struct Particle {
    vec3 pos;
    vec3 vel;
    uint8_t alive;
};

struct Plane {
    vec3 normal;
    float offset;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer ParticleBuffer { Particle v[]; };
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

#define x(i) args.x_data.v[i]

// task 1 of 3: range_for over x
// particles.py:20  for i in x:
void task(int i) {
    Particle p = x(i);  // :21
    // particles.py:15  self.pos += self.vel * dt
    p.pos += p.vel * args.dt;
    float height = dot(args.floor_normal, p.pos) - args.floor_offset;  // :23
    p.alive = uint8_t(bool(p.alive) && height > 0.0);  // :24
    x(i) = p;  // :25
    x(i).vel.y -= 9.8 * args.dt;  // :26, not atomic: no other iteration writes it (demote_atomics)
    // particles.py:27  ti.atomic_max(highest.offset, height)
    atomic_max_f32(AtomicU32(args.temporaries), 3u, height);
}

void main() {
    // an axis of the grid has at most 65,535 groups; the others are in further rows
    uint index = gl_WorkGroupID.y * gl_NumWorkGroups.x * BLOCK + gl_GlobalInvocationID.x;
    if (index < uint(args.x_n)) {
        task(int(index));
    }
}

// ===== particles_2.comp
// shadesmith 0.1.0, vulkan ae153ec1, particles.py:18:
// particles(x: ndarray[Particle, 1], floor.normal: f32[3], floor.offset: f32, dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int8 : require

layout(local_size_x = 1) in;

struct Particle {
    vec3 pos;
    vec3 vel;
    uint8_t alive;
};

struct Plane {
    vec3 normal;
    float offset;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer ParticleBuffer { Particle v[]; };
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

// task 2 of 3: serial
void task() {
    // particles.py:28  return highest
    args.result.value = args.temporaries.highest;
}

void main() {
    task();
}
