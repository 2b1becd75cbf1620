// shadesmith 0.1.0, c f0a6c982, splat.py:9: splat(x: ndarray[f32, 2], gravity: f32)
#include <stdbool.h>
#include <stdint.h>

static inline int f32_bits_to_i32(float x) {
    union { float number; int bits; } both = {x};
    return both.bits;
}

static inline float i32_bits_to_f32(int x) {
    union { int bits; float number; } both = {x};
    return both.number;
}

#define ACTIVATING 1u
#define SPARE 2u
#define FIRST_CELL 3u

// Iterations after which a thread stops waiting for the one that activates the cell, which may have
// been suspended.
#define MAX_WAIT_ITERATIONS 1000

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

// Return a free, cleared cell, or SPARE if there is none.
static inline uint32_t allocate_cell(Pool *pool, int capacity) {
    uint32_t taken = __atomic_fetch_add(&pool->taken, 1u, __ATOMIC_RELAXED);
    if (taken >= (uint32_t)capacity) {
        __atomic_fetch_sub(&pool->taken, 1u, __ATOMIC_RELAXED);
        __atomic_fetch_or(&pool->full, 1u, __ATOMIC_RELAXED);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Record a cell that is no longer in use and not yet cleared.
static inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = __atomic_fetch_add(&pool->freed, 1u, __ATOMIC_RELAXED);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Return the cell of an entry. If it is inactive, exactly one of the calling threads activates it.
static inline uint32_t activate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = __atomic_load_n(&numbers[entry], __ATOMIC_RELAXED);
    for (int iteration = 0; cell < FIRST_CELL; iteration++) {
        cell = compare_and_swap(&numbers[entry], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && iteration > MAX_WAIT_ITERATIONS)) {
            uint32_t taken = allocate_cell(pool, capacity);
            cell = compare_and_swap(&numbers[entry], ACTIVATING, taken == SPARE ? 0u : taken);
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

typedef struct { float x, y; } vec2;

static inline float atomic_add_f32(float *address, float value) {
    float old, new;
    const int relaxed = __ATOMIC_RELAXED;
    int *word = (int *)address, bits = __atomic_load_n(word, relaxed);
    do {
        old = i32_bits_to_f32(bits);
        new = old + value;
    } while (!__atomic_compare_exchange_n(word, &bits, f32_bits_to_i32(new), true, relaxed,
        relaxed));
    return old;
}

static inline uint32_t atomic_add_u32(uint32_t *address, uint32_t value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

typedef struct {
    float mass;
    vec2 momentum;
} BlockCell;
_Static_assert(sizeof(BlockCell) == 12, "must match the cell size on the host");

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

#define block_number(i, j) args.block_numbers[(long long)(i) * 8 + (j)]
#define block_is_active(i, j) (block_number(i, j) >= FIRST_CELL)
#define x(i, j) args.x_data[(long long)(i) * args.x_n1 + (j)]
#define mass_in(cell, i, j) args.block[(cell) * 16 + (unsigned)(i) % 4 * 4 + (unsigned)(j) % 4].mass
#define mass(i, j) mass_in(block_number((unsigned)(i) / 4, (unsigned)(j) / 4), i, j)
#define momentum_in(cell, i, j) \
    args.block[(cell) * 16 + (unsigned)(i) % 4 * 4 + (unsigned)(j) % 4].momentum
#define block_listed() args.block_pool->listed
#define block_list(i) args.block_list[i]

static inline uint32_t activate_block(const struct Args args, int i, int j) {
    return activate_cell(args.block_numbers, i * 8 + j, args.block_pool, args.block_capacity);
}

// task 0 of 4: range_for over p
// splat.py:10  for p in range(x.shape[0]):
static inline void task_0(const struct Args args, int p) {
    // splat.py:11  mass[int(x[p, 0]), int(x[p, 1])] += 1.0
    uint32_t block = activate_block(args, (int)x(p, 0) / 4, (int)x(p, 1) / 4);
    atomic_add_f32(&mass_in(block, (int)x(p, 0), (int)x(p, 1)), 1.0f);
}

void splat_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static) if (args.x_n0 >= 8192)
    for (int p = 0; p < args.x_n0; p++) {
        task_0(args, p);
    }
}

// task 1 of 4: serial, empties the list of block
static inline void task_1(const struct Args args) {
    block_listed() = 0u;
}

void splat_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_1(args);
}

// task 2 of 4: range_for, lists the active cells of block
static inline void task_2(const struct Args args, int i, int j) {
    if (block_is_active(i, j)) {
        uint32_t position = atomic_add_u32(&block_listed(), 1u);
        block_list((int)position) = i * 8 + j;
    }
}

void splat_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 16; i++) {
        for (int j = 0; j < 8; j++) {
            task_2(args, i, j);
        }
    }
}

// task 3 of 4: range_for over mass
// splat.py:12  for i, j in mass:
static inline void task_3(const struct Args args, int list_index, int i_inside, int j_inside) {
    int cell = block_list(list_index), i = cell / 8 * 4 + i_inside, j = cell % 8 * 4 + j_inside;
    uint32_t block = block_number(cell / 8, cell % 8);
    if (i > 0 && mass(i - 1, j) > 0.0f) {  // :13
        // splat.py:14  momentum[i, j].y -= gravity * mass[i, j]
        // not atomic: no other iteration writes it (demote_atomics)
        momentum_in(block, i, j).y -= args.gravity * mass_in(block, i, j);
    }
}

void splat_3(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_list_index = (int)args.block_pool->listed;
    #pragma omp parallel for firstprivate(args) collapse(2) schedule(static) \
        if ((long long)end_list_index * 16 >= 8192)
    for (int list_index = 0; list_index < end_list_index; list_index++) {
        for (int i_inside = 0; i_inside < 4; i_inside++) {
            for (int j_inside = 0; j_inside < 4; j_inside++) {
                task_3(args, list_index, i_inside, j_inside);
            }
        }
    }
}
