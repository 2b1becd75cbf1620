// shadesmith 0.1.0, cuda e9f9a066, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)

#define BLOCK 128

typedef unsigned int uint32_t;

#define ACTIVATING 1u
#define SPARE 2u
#define FIRST_CELL 3u

// Iterations after which a thread stops waiting for the one that activates the cell, which may have
// been suspended.
#define MAX_WAIT_ITERATIONS 1000

// The state of a pool of cells.
struct Pool {
    uint32_t taken;     // cells in use or freed
    uint32_t freed;     // cells that are deactivated and not yet cleared
    uint32_t highest;   // maximum of `taken`
    uint32_t listed;    // entries of the list that a loop runs over
    uint32_t full;      // bit 0: no cell was left for a request, bit 1: no item of a list
    uint32_t cells[1];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

// Return a free, cleared cell, or SPARE if there is none.
__device__ inline uint32_t allocate_cell(Pool *pool, int capacity) {
    uint32_t taken = atomicAdd(&pool->taken, 1u);
    if (taken >= (uint32_t)capacity) {
        atomicSub(&pool->taken, 1u);
        atomicOr(&pool->full, 1u);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Record a cell that is no longer in use and not yet cleared.
__device__ inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = atomicAdd(&pool->freed, 1u);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Return the cell of an entry. If it is inactive, exactly one of the calling threads activates it.
__device__ inline uint32_t activate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = numbers[entry];
    for (int iteration = 0; cell < FIRST_CELL; iteration++) {
        cell = atomicCAS(&numbers[entry], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && iteration > MAX_WAIT_ITERATIONS)) {
            uint32_t taken = allocate_cell(pool, capacity);
            cell = atomicCAS(&numbers[entry], ACTIVATING, taken == SPARE ? 0u : taken);
            if (cell == ACTIVATING) {
                return taken;
            }
            if (taken != SPARE) {
                free_cell(pool, capacity, taken);
            }
        }
    }
    return cell;
}

struct vec2 { float x, y; };

struct BlockCell {
    float mass;
    vec2 momentum;
};
static_assert(sizeof(BlockCell) == 12, "must match the cell size on the host");

struct Args {
    const float *x_data;      // x: ndarray[f32, 2]
    BlockCell *block;         // mass: field[f32, 64x32], momentum: field[f32[2], 64x32]
    int *block_list;          // block: row-major numbers of the active cells
    uint32_t *block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    Pool *block_pool;         // block: counters and free cells of its pool
    int block_capacity;       // block: number of cells of its pool
    float gravity;            // gravity: f32
    int x_n0;                 // x.shape[0]
    int x_n1;                 // x.shape[1]
};

#define block_number(i, j) __ldcg(&args.block_numbers[(i) * 8 + (j)])
#define block_is_active(i, j) (block_number(i, j) >= FIRST_CELL)
#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define mass_in(cell, i, j) args.block[(cell) * 16 + unsigned(i) % 4 * 4 + unsigned(j) % 4].mass
#define mass(i, j) mass_in(block_number(unsigned(i) / 4, unsigned(j) / 4), i, j)
#define momentum_in(cell, i, j) \
    args.block[(cell) * 16 + unsigned(i) % 4 * 4 + unsigned(j) % 4].momentum
#define block_listed() args.block_pool->listed
#define block_list(i) args.block_list[i]

__device__ inline uint32_t activate_block(const Args &args, int i, int j) {
    return activate_cell(args.block_numbers, i * 8 + j, args.block_pool, args.block_capacity);
}

// task 0 of 4: range_for over p
// splat.py:10  for p in range(x.shape[0]):
__device__ inline void task_0(const Args &args, int p) {
    // splat.py:11  mass[int(x[p, 0]), int(x[p, 1])] += 1.0
    uint32_t block = activate_block(args, (int)x(p, 0) / 4, (int)x(p, 1) / 4);
    atomicAdd(&mass_in(block, (int)x(p, 0), (int)x(p, 1)), 1.0f);
}

extern "C" __global__ void __launch_bounds__(BLOCK) splat_0(const Args args) {
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(args.x_n0);
        index += gridDim.x * BLOCK) {
        task_0(args, int(index));
    }
}

// task 1 of 4: serial, empties the list of block
extern "C" __global__ void splat_1(const Args args) {
    block_listed() = 0u;
}

// task 2 of 4: range_for, lists the active cells of block
extern "C" __global__ void __launch_bounds__(BLOCK) splat_2(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= 128) return;
    int i = index / 8, j = index % 8;
    if (block_is_active(i, j)) {
        uint32_t position = atomicAdd(&block_listed(), 1u);
        block_list((int)position) = i * 8 + j;
    }
}

// task 3 of 4: range_for over mass
// splat.py:12  for i, j in mass:
__device__ inline void task_3(const Args &args, int list_index, int i_inside, int j_inside) {
    int cell = block_list(list_index), i = cell / 8 * 4 + i_inside, j = cell % 8 * 4 + j_inside;
    uint32_t block = block_number(cell / 8, cell % 8);
    if (i > 0 && mass(i - 1, j) > 0.0f) {  // :13
        // splat.py:14  momentum[i, j].y -= gravity * mass[i, j]
        // not atomic: no other iteration writes it (demote_atomics)
        momentum_in(block, i, j).y -= args.gravity * mass_in(block, i, j);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) splat_3(const Args args) {
    int extent_list_index = max(int(args.block_pool->listed), 0);
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(extent_list_index) * 16; index += gridDim.x * BLOCK) {
        task_3(args, int(index / 16), int(index / 4 % 4), int(index % 4));
    }
}
