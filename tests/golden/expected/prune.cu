// shadesmith 0.1.0, cuda 610742e6, prune.py:9: prune()

#define BLOCK 128

typedef unsigned int uint32_t;

#define FIRST_CELL 3u

// The state of a pool of cells.
struct Pool {
    uint32_t taken;     // cells in use or freed
    uint32_t freed;     // cells that are deactivated and not yet cleared
    uint32_t highest;   // maximum of `taken`
    uint32_t listed;    // entries of the list that a loop runs over
    uint32_t full;      // bit 0: no cell was left for a request, bit 1: no item of a list
    uint32_t cells[1];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

// Record a cell that is no longer in use and not yet cleared.
__device__ inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = atomicAdd(&pool->freed, 1u);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Deactivate the cell of an entry; it is cleared and returned to the pool after the loop.
__device__ inline void deactivate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = numbers[entry];
    if (cell >= FIRST_CELL && atomicCAS(&numbers[entry], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

struct Args {
    const float *x_data;      // x: field[f32, 1024]
    int *block_list;          // block: row-major numbers of the active cells
    uint32_t *block_words;    // block: the cells as 32-bit words
    Pool *block_pool;         // block: counters and free cells of its pool
    uint32_t *block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;       // block: number of cells of its pool
};

#define block_number(i) __ldcg(&args.block_numbers[i])
#define block_is_active(i) (block_number(i) >= FIRST_CELL)
#define x_in(cell, i) args.x_data[(cell) * 16 + unsigned(i) % 16]
#define x(i) x_in(block_number(unsigned(i) / 16), i)
#define block_listed() args.block_pool->listed
#define block_list(i) args.block_list[i]
#define block_words(i, j) args.block_words[(i) * 16 + (j)]
#define block_cells(i) args.block_pool->cells[i]
#define block_taken() args.block_pool->taken
#define block_freed() args.block_pool->freed
#define block_highest() args.block_pool->highest

__device__ inline void deactivate_block(const Args &args, int i) {
    deactivate_cell(args.block_numbers, i, args.block_pool, args.block_capacity);
}

// task 0 of 6: serial, empties the list of block
extern "C" __global__ void prune_0(const Args args) {
    block_listed() = 0u;
}

// task 1 of 6: range_for, lists the active cells of block
extern "C" __global__ void __launch_bounds__(BLOCK) prune_1(const Args args) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 64) return;
    if (block_is_active(i)) {
        uint32_t position = atomicAdd(&block_listed(), 1u);
        block_list((int)position) = i;
    }
}

// task 2 of 6: range_for over block
// prune.py:10  for i in block:
__device__ inline void task_2(const Args &args, int list_index) {
    int i = block_list(list_index);
    if (x(16 * i) == 0.0f) {  // :11
        // prune.py:12  ti.deactivate(block, i)
        deactivate_block(args, i);
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) prune_2(const Args args) {
    unsigned count = unsigned(max(int(args.block_pool->listed), 0));
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count;
        index += gridDim.x * BLOCK) {
        task_2(args, int(index));
    }
}

// task 3 of 6: range_for, zeroes the freed cells of block
__device__ inline void task_3(const Args &args, int k, int word) {
    uint32_t cell = block_cells(args.block_capacity + k);
    block_words((int)cell, word) = 0u;
}

extern "C" __global__ void __launch_bounds__(BLOCK) prune_3(const Args args) {
    int extent_k = max(int(args.block_pool->freed), 0);
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < unsigned(extent_k) * 16;
        index += gridDim.x * BLOCK) {
        task_3(args, int(index / 16), int(index % 16));
    }
}

// task 4 of 6: range_for, releases the freed cells of block
__device__ inline void task_4(const Args &args, int k) {
    block_cells(int(args.block_pool->taken) - 1 - k) = block_cells(args.block_capacity + k);
}

extern "C" __global__ void __launch_bounds__(BLOCK) prune_4(const Args args) {
    unsigned count = unsigned(max(int(args.block_pool->freed), 0));
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x; index < count;
        index += gridDim.x * BLOCK) {
        task_4(args, int(index));
    }
}

// task 5 of 6: serial, counts the cells of block
extern "C" __global__ void prune_5(const Args args) {
    block_highest() = max(block_highest(), block_taken());
    block_taken() -= block_freed();
    block_freed() = 0u;
}
