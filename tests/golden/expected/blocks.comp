// sweep(dt: f32), range_for over velocity
// from blocks.py:11, interface f00bfcb6
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_atomic_float : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

// Quotient rounded toward zero; 0 where the divisor is 0.
int div_i32(int a, int b) {
    return b == 0 ? 0 : b == -1 ? -a : a / b;  // x / 0 is undefined, and so is the lowest number / -1
}

// Remainder with the sign of the dividend; 0 where the divisor is 0.
int rem_i32(int a, int b) {
    return b == 0 || b == -1 ? 0 : a - b * (a / b);  // % is undefined for negative numbers
}

// Python's //: quotient rounded toward minus infinity; 0 where the divisor is 0.
int floor_div_i32(int a, int b) {
    int quotient = div_i32(a, b);
    return rem_i32(a, b) != 0 && (a ^ b) < 0 ? quotient - 1 : quotient;
}

struct Cell {
    vec2 velocity;
    float mass;
};

struct Block {
    Cell cells[12];
    float total;
};

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer BlockBuffer { Block v[]; };
layout(push_constant, scalar) uniform Args {
    BlockBuffer blocks;  // velocity: field[f32[2], 32x12], mass: field[f32, 32x12], total: field[f32, 8x4]
    float dt;            // dt: f32
} args;

#define velocity(i, j) args.blocks.v[uint(i) / 4 * 4 + uint(j) / 3].cells[uint(i) % 4 * 3 + uint(j) % 3].velocity
#define mass(i, j) args.blocks.v[uint(i) / 4 * 4 + uint(j) / 3].cells[uint(i) % 4 * 3 + uint(j) % 3].mass
#define total(i, j) args.blocks.v[(i) * 4 + (j)].total

// blocks.py:12  for i, j in velocity:
void task(int i, int j) {
    // blocks.py:13  velocity[i, j].y -= 9.8 * dt
    velocity(i, j).y -= 9.8 * args.dt;  // not atomic: no other turn writes it (demote_atomics)
    // blocks.py:14  total[i // 4, j // 3] += velocity[i, j].norm() * mass[i, j]
    atomicAdd(total(floor_div_i32(i, 4), floor_div_i32(j, 3)), length(velocity(i, j)) * mass(i, j));
}

void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index < 384u) {
        task(int(index / 48 * 4 + index / 3 % 4), int(index / 12 % 4 * 3 + index % 3));
    }
}
