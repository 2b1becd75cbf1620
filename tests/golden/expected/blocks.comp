// shadesmith 0.1.0, vulkan 891a554a, blocks.py:11: sweep(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int velocity_n0 = 32;  // velocity.shape[0]
const int velocity_n1 = 12;  // velocity.shape[1]

struct Cell {
    vec2 velocity;
    float mass;
};

struct Block {
    Cell cells[12];
    float total;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    restrict buffer BlockBuffer { Block v[]; };
layout(push_constant, scalar) uniform Args {
    BlockBuffer blocks;  // velocity: field[f32[2], 32x12], mass: field[f32, 32x12], total:
                         // field[f32, 8x4]
    float dt;            // dt: f32
} args;

#define velocity(i, j) \
    args.blocks.v[uint(i) / 4 * 4 + uint(j) / 3].cells[uint(i) % 4 * 3 + uint(j) % 3].velocity
#define mass(i, j) \
    args.blocks.v[uint(i) / 4 * 4 + uint(j) / 3].cells[uint(i) % 4 * 3 + uint(j) % 3].mass
#define total(i, j) args.blocks.v[(i) * 4 + (j)].total

// blocks.py:12  for i, j in velocity:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= velocity_n0 * velocity_n1) return;
    int i = int(index / 48 * 4 + index / 3 % 4), j = int(index / 12 % 4 * 3 + index % 3);
    // blocks.py:13  velocity[i, j].y -= 9.8 * dt
    velocity(i, j).y -= 9.8 * args.dt;  // not atomic: no other iteration writes it (demote_atomics)
    // blocks.py:14  total[i // 4, j // 3] += velocity[i, j].norm() * mass[i, j]
    atomicAdd(total(i >> 2, j / 3), length(velocity(i, j)) * mass(i, j));
}
