// shadesmith 0.1.0, c f1ec5e84, prune.py:9: prune()
#include <stdbool.h>
#include <stdint.h>

static inline uint32_t max_u32(uint32_t a, uint32_t b) { return a > b ? a : b; }

#define FIRST_CELL 3u

// The state of a pool of cells.
typedef struct Pool {
    uint32_t taken;    // cells in use or freed
    uint32_t freed;    // cells that are deactivated and not yet cleared
    uint32_t highest;  // maximum of `taken`
    uint32_t listed;   // entries of the list that a loop runs over
    uint32_t full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint32_t cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
} Pool;

// Replace `old` by `value`; returns the previous value.
static inline uint32_t compare_and_swap(uint32_t *word, uint32_t old, uint32_t value) {
    __atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}

// Record a cell that is no longer in use and not yet cleared.
static inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = __atomic_fetch_add(&pool->freed, 1u, __ATOMIC_RELAXED);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Deactivate the cell of an entry; it is cleared and returned to the pool after the loop.
static inline void deactivate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = __atomic_load_n(&numbers[entry], __ATOMIC_RELAXED);
    if (cell >= FIRST_CELL && compare_and_swap(&numbers[entry], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

static inline uint32_t atomic_add_u32(uint32_t *address, uint32_t value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

struct Args {
    const float *x_data;      // x: field[f32, 1024]
    int *block_list;          // block: row-major numbers of the active cells
    uint32_t *block_words;    // block: the cells as 32-bit words
    Pool *block_pool;         // block: counters and free cells of its pool
    uint32_t *block_numbers;  // block: number of each cell in its pool, from 3 on; 0 if inactive
    int block_capacity;       // block: number of cells of its pool
};

#define block_number(i) args.block_numbers[i]
#define block_is_active(i) (block_number(i) >= FIRST_CELL)
#define x_in(cell, i) args.x_data[(cell) * 16 + (unsigned)(i) % 16]
#define x(i) x_in(block_number((unsigned)(i) / 16), i)
#define block_listed() args.block_pool->listed
#define block_list(i) args.block_list[i]
#define block_words(i, j) args.block_words[(long long)(i) * 16 + (j)]
#define block_cells(i) args.block_pool->cells[i]
#define block_taken() args.block_pool->taken
#define block_freed() args.block_pool->freed
#define block_highest() args.block_pool->highest

static inline void deactivate_block(const struct Args args, int i) {
    deactivate_cell(args.block_numbers, i, args.block_pool, args.block_capacity);
}

// task 0 of 6: serial, empties the list of block
static inline void task_0(const struct Args args) {
    block_listed() = 0u;
}

void prune_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_0(args);
}

// task 1 of 6: range_for, lists the active cells of block
static inline void task_1(const struct Args args, int i) {
    if (block_is_active(i)) {
        uint32_t position = atomic_add_u32(&block_listed(), 1u);
        block_list((int)position) = i;
    }
}

void prune_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 64; i++) {
        task_1(args, i);
    }
}

// task 2 of 6: range_for over block
// prune.py:10  for i in block:
static inline void task_2(const struct Args args, int list_index) {
    int i = block_list(list_index);
    if (x(16 * i) == 0.0f) {  // :11
        // prune.py:12  ti.deactivate(block, i)
        deactivate_block(args, i);
    }
}

void prune_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_list_index = (int)args.block_pool->listed;
    #pragma omp parallel for firstprivate(args) schedule(static) if (end_list_index >= 8192)
    for (int list_index = 0; list_index < end_list_index; list_index++) {
        task_2(args, list_index);
    }
}

// task 3 of 6: range_for, zeroes the freed cells of block
static inline void task_3(const struct Args args, int k, int word) {
    uint32_t cell = block_cells(args.block_capacity + k);
    block_words((int)cell, word) = 0u;
}

void prune_3(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_k = (int)args.block_pool->freed;
    #pragma omp parallel for firstprivate(args) schedule(static) if ((long long)end_k * 16 >= 8192)
    for (int k = 0; k < end_k; k++) {
        #pragma omp simd
        for (int word = 0; word < 16; word++) {
            task_3(args, k, word);
        }
    }
}

// task 4 of 6: range_for, releases the freed cells of block
static inline void task_4(const struct Args args, int k) {
    block_cells((int)args.block_pool->taken - 1 - k) = block_cells(args.block_capacity + k);
}

void prune_4(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_k = (int)args.block_pool->freed;
    #pragma omp parallel for firstprivate(args) schedule(static) if (end_k >= 8192)
    for (int k = 0; k < end_k; k++) {
        task_4(args, k);
    }
}

// task 5 of 6: serial, counts the cells of block
static inline void task_5(const struct Args args) {
    block_highest() = max_u32(block_highest(), block_taken());
    block_taken() -= block_freed();
    block_freed() = 0u;
}

void prune_5(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_5(args);
}
