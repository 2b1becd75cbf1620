// shadesmith 0.1.0, vulkan ecff18b4, wither.py:9: wither(dt: f32)
#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_scalar_block_layout : require

#define BLOCK 128
layout(local_size_x = BLOCK) in;

const int alive_n0 = 64;  // alive.shape[0]
const int alive_n1 = 48;  // alive.shape[1]

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Mask { uint v[]; };
bool bit_is_set(Mask mask, uint bit) { return (mask.v[bit / 32u] >> bit % 32u & 1u) != 0u; }

// Clear a bit; returns whether this thread cleared it.
bool clear_bit(Mask mask, uint bit) {
    uint one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (atomicAnd(mask.v[bit / 32u], ~one) & one) != 0u;
}

struct GridCell {
    int alive;
    float age;
};

layout(buffer_reference, scalar, buffer_reference_align = 4)
    buffer GridCellBuffer { GridCell v[]; };
layout(push_constant, scalar) uniform Args {
    GridCellBuffer grid;  // alive: field[i32, 64x48], age: field[f32, 64x48]
    Mask grid_mask;       // grid: a bit per cell, set if the cell is active
    float dt;             // dt: f32
} args;

#define grid_is_active(i, j) bit_is_set(args.grid_mask, (i) * 48 + (j))
#define alive(i, j) args.grid.v[(i) * 48 + (j)].alive
#define age(i, j) args.grid.v[(i) * 48 + (j)].age

bool deactivate_grid(int i, int j) {
    return clear_bit(args.grid_mask, uint(i * 48 + j));
}

// wither.py:10  for i, j in alive:
void main() {
    uint index = gl_GlobalInvocationID.x;
    if (index >= alive_n0 * alive_n1) return;
    int i = int(index / alive_n1), j = int(index % alive_n1);
    if (grid_is_active(i, j)) {
        age(i, j) += args.dt;  // :11, not atomic: no other iteration writes it (demote_atomics)
        if (age(i, j) > 9.0) {  // :12
            // wither.py:13  ti.deactivate(grid, [i, j])
            if (deactivate_grid(i, j)) {
                alive(i, j) = 0;
                age(i, j) = 0.0;
            }
        }
    }
}
