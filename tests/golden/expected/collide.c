// shadesmith 0.1.0, c 37dc6652, collide.py:9: collide(x: ndarray[f32, 1])
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

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

// Append an item to a list; returns its index, or -1 if the list is full.
static inline int append_item(uint32_t *lengths, uint32_t list, int capacity, Pool *pool) {
    uint32_t length = __atomic_fetch_add(&lengths[list], 1u, __ATOMIC_RELAXED);
    if (length >= (uint32_t)capacity) {
        __atomic_fetch_sub(&lengths[list], 1u, __ATOMIC_RELAXED);
        __atomic_fetch_or(&pool->full, 2u, __ATOMIC_RELAXED);
        return -1;
    }
    return (int)length;
}

static inline int atomic_add_i32(int *address, int value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

static inline uint32_t atomic_add_u32(uint32_t *address, uint32_t value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
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

#define pairs_length(i) (int)args.pairs_lengths[i]
#define pairs_number(i, j) args.pairs_numbers[(i) * 4 + (unsigned)(j) / 16]
#define x(i) args.x_data[i]
#define near_in(cell, j) args.near_data[(cell) * 16 + (unsigned)(j) % 16]
#define hits(i) args.hits_data[i]
#define pairs_listed() args.pairs_pool->listed
#define pairs_list(i) args.pairs_list[i]

static inline int append_pairs(const struct Args args, int i) {
    return append_item(args.pairs_lengths, i, 64, args.pairs_pool);
}

static inline uint32_t reserve_pairs(const struct Args args, int i, int j) {
    return activate_cell(args.pairs_numbers, i * 4 + (unsigned)j / 16, args.pairs_pool,
        args.pairs_capacity);
}

// task 0 of 4: range_for over i, j
// collide.py:10  for i, j in ti.ndrange(100, 100):
static inline void task_0(const struct Args args, int i, int j) {
    if (i != j && fabsf(x(i) - x(j)) < 0.1f) {  // :11
        // collide.py:12  near[i].append(j)
        int item = append_pairs(args, i);
        if (item >= 0) {
            uint32_t pairs = reserve_pairs(args, i, item);
            near_in(pairs, item) = j;
        }
    }
}

void collide_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < 100; i++) {
        for (int j = 0; j < 100; j++) {
            task_0(args, i, j);
        }
    }
}

// task 1 of 4: serial, empties the list of pairs
static inline void task_1(const struct Args args) {
    pairs_listed() = 0u;
}

void collide_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_1(args);
}

// task 2 of 4: range_for, lists the items of pairs in pieces of 32
static inline void task_2(const struct Args args, int i) {
    int pieces = (pairs_length(i) + 31) / 32;
    for (int piece = 0; piece < pieces; piece++) {
        uint32_t position = atomic_add_u32(&pairs_listed(), 1u);
        pairs_list((int)position) = i * 2 + piece;
    }
}

void collide_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args) schedule(static)
    for (int i = 0; i < 100; i++) {
        task_2(args, i);
    }
}

// task 3 of 4: range_for over near
// collide.py:13  for i, k in near:
static inline void task_3(const struct Args args, int list_index, int item) {
    int piece = pairs_list(list_index), i = piece / 2, k = piece % 2 * 32 + item;
    uint32_t pairs = pairs_number(i, k);
    if (k < pairs_length(i)) {
        // collide.py:14  hits[near[i, k]] += near[i].length()
        atomic_add_i32(&hits(near_in(pairs, k)), pairs_length(i));
    }
}

void collide_3(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_list_index = (int)args.pairs_pool->listed;
    #pragma omp parallel for firstprivate(args) schedule(static) \
        if ((long long)end_list_index * 32 >= 8192)
    for (int list_index = 0; list_index < end_list_index; list_index++) {
        for (int item = 0; item < 32; item++) {
            task_3(args, list_index, item);
        }
    }
}
