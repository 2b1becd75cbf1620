// shadesmith 0.1.0, cuda 574bd401, wither.py:9: wither(dt: f32)

#define BLOCK 128

constexpr int alive_n0 = 64;  // alive.shape[0]
constexpr int alive_n1 = 48;  // alive.shape[1]

typedef unsigned int uint32_t;

__device__ inline bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (mask[bit / 32u] >> bit % 32u & 1u) != 0u;
}

// Clear a bit; returns whether this thread cleared it.
__device__ inline bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (atomicAnd(&mask[bit / 32u], ~one) & one) != 0u;
}

struct GridCell {
    int alive;
    float age;
};
static_assert(sizeof(GridCell) == 8, "must match the cell size on the host");

struct Args {
    GridCell *grid;       // alive: field[i32, 64x48], age: field[f32, 64x48]
    uint32_t *grid_mask;  // grid: a bit per cell, set if the cell is active
    float dt;             // dt: f32
};

#define grid_is_active(i, j) bit_is_set(args.grid_mask, (i) * 48 + (j))
#define alive(i, j) args.grid[(i) * 48 + (j)].alive
#define age(i, j) args.grid[(i) * 48 + (j)].age

__device__ inline bool deactivate_grid(const Args &args, int i, int j) {
    return clear_bit(args.grid_mask, i * 48 + j);
}

// wither.py:10  for i, j in alive:
extern "C" __global__ void __launch_bounds__(BLOCK) wither_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= alive_n0 * alive_n1) return;
    int i = index / alive_n1, j = index % alive_n1;
    if (grid_is_active(i, j)) {
        age(i, j) += args.dt;  // :11, not atomic: no other iteration writes it (demote_atomics)
        if (age(i, j) > 9.0f) {  // :12
            // wither.py:13  ti.deactivate(grid, [i, j])
            if (deactivate_grid(args, i, j)) {
                alive(i, j) = 0;
                age(i, j) = 0.0f;
            }
        }
    }
}
