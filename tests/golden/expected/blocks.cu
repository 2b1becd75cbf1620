// shadesmith 0.1.0, cuda c6fb6c50, blocks.py:11: sweep(dt: f32)

#define BLOCK 128

constexpr int velocity_n0 = 32;  // velocity.shape[0]
constexpr int velocity_n1 = 12;  // velocity.shape[1]

struct vec2 { float x, y; };

__device__ inline float length(vec2 a) { return sqrtf(a.x * a.x + a.y * a.y); }

struct Cell {
    vec2 velocity;
    float mass;
};
static_assert(sizeof(Cell) == 12, "must match the cell size on the host");

struct Block {
    Cell cells[12];
    float total;
};
static_assert(sizeof(Block) == 148, "must match the cell size on the host");

struct Args {
    Block *__restrict__ blocks;  // velocity: field[f32[2], 32x12], mass: field[f32, 32x12], total:
                                 // field[f32, 8x4]
    float dt;                    // dt: f32
};

#define velocity(i, j) \
    args.blocks[unsigned(i) / 4 * 4 + unsigned(j) / 3] \
    .cells[unsigned(i) % 4 * 3 + unsigned(j) % 3].velocity
#define mass(i, j) \
    args.blocks[unsigned(i) / 4 * 4 + unsigned(j) / 3] \
    .cells[unsigned(i) % 4 * 3 + unsigned(j) % 3].mass
#define total(i, j) args.blocks[(i) * 4 + (j)].total

// blocks.py:12  for i, j in velocity:
extern "C" __global__ void __launch_bounds__(BLOCK) sweep_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= velocity_n0 * velocity_n1) return;
    int i = index / 48 * 4 + index / 3 % 4, j = index / 12 % 4 * 3 + index % 3;
    // not atomic: no other iteration writes it (demote_atomics)
    velocity(i, j).y -= 9.8f * args.dt;  // :13
    // blocks.py:14  total[i // 4, j // 3] += velocity[i, j].norm() * mass[i, j]
    atomicAdd(&total(i >> 2, j / 3), length(velocity(i, j)) * mass(i, j));
}
