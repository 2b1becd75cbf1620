// shadesmith 0.1.0, cuda 551ef105, collide.py:9: collide(x: ndarray[f32, 1])

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

// Append an item to a list; returns its index, or -1 if the list is full.
__device__ inline int append_item(uint32_t *lengths, uint32_t list, int capacity, Pool *pool) {
    uint32_t length = atomicAdd(&lengths[list], 1u);
    if (length >= (uint32_t)capacity) {
        atomicSub(&lengths[list], 1u);
        atomicOr(&pool->full, 2u);
        return -1;
    }
    return (int)length;
}

struct Args {
    const float *x_data;      // x: ndarray[f32, 1]
    int *near_data;           // near: field[i32, 100x64]
    int *hits_data;           // hits: field[i32, 100]
    int *pairs_list;          // pairs: the items of the lists, in pieces
    uint32_t *pairs_lengths;  // pairs: number of items of each list
    Pool *pairs_pool;         // pairs: counters and free chunks of its pool
    uint32_t *pairs_numbers;  // pairs: number of each chunk in its pool, from 3 on; 0 if inactive
    int pairs_capacity;       // pairs: number of chunks of its pool
};

#define pairs_length(i) int(args.pairs_lengths[i])
#define pairs_number(i, j) __ldcg(&args.pairs_numbers[(i) * 4 + unsigned(j) / 16])
#define x(i) args.x_data[i]
#define near_in(cell, j) args.near_data[(cell) * 16 + unsigned(j) % 16]
#define hits(i) args.hits_data[i]
#define pairs_listed() args.pairs_pool->listed
#define pairs_list(i) args.pairs_list[i]

__device__ inline int append_pairs(const Args &args, int i) {
    return append_item(args.pairs_lengths, i, 64, args.pairs_pool);
}

__device__ inline uint32_t reserve_pairs(const Args &args, int i, int j) {
    return activate_cell(args.pairs_numbers, i * 4 + unsigned(j) / 16, args.pairs_pool,
        args.pairs_capacity);
}

// task 0 of 4: range_for over i, j
// collide.py:10  for i, j in ti.ndrange(100, 100):
extern "C" __global__ void __launch_bounds__(BLOCK) collide_0(const Args args) {
    unsigned index = blockIdx.x * BLOCK + threadIdx.x;
    if (index >= 10000) return;
    int i = index / 100, j = index % 100;
    if (i != j && fabsf(x(i) - x(j)) < 0.1f) {  // :11
        // collide.py:12  near[i].append(j)
        int item = append_pairs(args, i);
        if (item >= 0) {
            uint32_t pairs = reserve_pairs(args, i, item);
            near_in(pairs, item) = j;
        }
    }
}

// task 1 of 4: serial, empties the list of pairs
extern "C" __global__ void collide_1(const Args args) {
    pairs_listed() = 0u;
}

// task 2 of 4: range_for, lists the items of pairs in pieces of 32
extern "C" __global__ void __launch_bounds__(BLOCK) collide_2(const Args args) {
    int i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= 100) return;
    int pieces = (pairs_length(i) + 31) / 32;
    for (int piece = 0; piece < pieces; piece++) {
        uint32_t position = atomicAdd(&pairs_listed(), 1u);
        pairs_list((int)position) = i * 2 + piece;
    }
}

// task 3 of 4: range_for over near
// collide.py:13  for i, k in near:
__device__ inline void task_3(const Args &args, int list_index, int item) {
    int piece = pairs_list(list_index), i = piece / 2, k = piece % 2 * 32 + item;
    uint32_t pairs = pairs_number(i, k);
    if (k < pairs_length(i)) {
        // collide.py:14  hits[near[i, k]] += near[i].length()
        atomicAdd(&hits(near_in(pairs, k)), pairs_length(i));
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK) collide_3(const Args args) {
    int extent_list_index = max(int(args.pairs_pool->listed), 0);
    for (unsigned index = blockIdx.x * BLOCK + threadIdx.x;
        index < unsigned(extent_list_index) * 32; index += gridDim.x * BLOCK) {
        task_3(args, int(index / 32), int(index % 32));
    }
}
