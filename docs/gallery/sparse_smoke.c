// shadesmith 0.1.0, c a2fdca03, sparse_smoke.py:31: spread(t: f32)
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static const float pi = 3.1415927f;  // ti.math.pi
enum { N = 384 };  // captured

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
typedef struct { int x, y; } ivec2;

static inline uint32_t atomic_add_u32(uint32_t *address, uint32_t value) {
    return __atomic_fetch_add(address, value, __ATOMIC_RELAXED);
}

struct Args {
    const float *x_data;              // x: field[f32, 384x384]
    float *new_data;                  // new: field[f32, 384x384]
    int *x_block_list;                // x_block: row-major numbers of the active cells
    Pool *x_block_pool;               // x_block: counters and free cells of its pool
    const uint32_t *x_block_numbers;  // x_block: number of each cell in its pool, from 3 on; 0 if
                                      // inactive
    uint32_t *new_block_numbers;      // new_block: number of each cell in its pool, from 3 on; 0 if
                                      // inactive
    Pool *new_block_pool;             // new_block: counters and free cells of its pool
    int new_block_capacity;           // new_block: number of cells of its pool
    float t;                          // t: f32
};

#define x_block_number(i, j) args.x_block_numbers[(long long)(i) * 24 + (j)]
#define x_block_is_active(i, j) (x_block_number(i, j) >= FIRST_CELL)
#define x_in(cell, i, j) args.x_data[(cell) * 256 + (unsigned)(i) % 16 * 16 + (unsigned)(j) % 16]
#define new_in(cell, i, j) \
    args.new_data[(cell) * 256 + (unsigned)(i) % 16 * 16 + (unsigned)(j) % 16]
#define x_block_listed() args.x_block_pool->listed
#define x_block_list(i) args.x_block_list[i]

static inline uint32_t activate_new_block(const struct Args args, int i, int j) {
    return activate_cell(args.new_block_numbers, i * 24 + j, args.new_block_pool,
        args.new_block_capacity);
}

// task 0 of 3: serial, empties the list of x_block
static inline void task_0(const struct Args args) {
    x_block_listed() = 0u;
}

void spread_0(const struct Args *arguments) {
    const struct Args args = *arguments;
    task_0(args);
}

// task 1 of 3: range_for, lists the active cells of x_block
static inline void task_1(const struct Args args, int i, int j) {
    if (x_block_is_active(i, j)) {
        uint32_t position = atomic_add_u32(&x_block_listed(), 1u);
        x_block_list((int)position) = i * 24 + j;
    }
}

void spread_1(const struct Args *arguments) {
    const struct Args args = *arguments;
    for (int i = 0; i < 24; i++) {
        for (int j = 0; j < 24; j++) {
            task_1(args, i, j);
        }
    }
}

// task 2 of 3: range_for over x
// sparse_smoke.py:33  for i, j in x:
static inline void task_2(const struct Args args, int list_index, int i_inside, int j_inside) {
    int cell = x_block_list(list_index), i = cell / 24 * 16 + i_inside;
    int j = cell % 24 * 16 + j_inside;
    uint32_t x_block = x_block_number(i / 16, j / 16);
    // sparse_smoke.py:34  if x[i, j] > 0.004:
    if (x_in(x_block, i, j) > 0.004f) {
        // sparse_smoke.py:18  swirl = vec2(ti.cos(3 * q.y - 0.031 * t) * 0.9, ti.sin(4 * q.x +
        //     0.023 * t) * 0.5)
        vec2 swirl = {cosf(3.0f * (j * (2.0f * pi / N)) - 0.031f * args.t) * 0.9f,
            sinf(4.0f * (i * (2.0f * pi / N)) + 0.023f * args.t) * 0.5f};
        // sparse_smoke.py:35  to = int(vec2(i, j) + DT * wind(vec2(i, j), t))
        ivec2 to = {(int)(i + (swirl.x + 0.0f)), (int)(j + (swirl.y + 1.5f))};
        // sparse_smoke.py:36  for a, b in ti.static(ti.ndrange((-2, 3), (-2, 3))):
        #pragma GCC unroll 5
        for (int a = -2; a < 3; a++) {
            #pragma GCC unroll 5
            for (int b = -2; b < 3; b++) {
                int k = to.x + a, l = to.y + b;  // :37
                if (0 < k && k < N - 1 && 0 < l && l < N - 1) {  // :38
                    // sparse_smoke.py:39  new[k, l] = 0.0
                    uint32_t new_block = activate_new_block(args, k / 16, l / 16);
                    new_in(new_block, k, l) = 0.0f;
                }
            }
        }
    }
}

void spread_2(const struct Args *arguments) {
    const struct Args args = *arguments;
    int end_list_index = (int)args.x_block_pool->listed;
    #pragma omp parallel for firstprivate(args) collapse(2) schedule(static) \
        if ((long long)end_list_index * 256 >= 8192)
    for (int list_index = 0; list_index < end_list_index; list_index++) {
        for (int i_inside = 0; i_inside < 16; i_inside++) {
            for (int j_inside = 0; j_inside < 16; j_inside++) {
                task_2(args, list_index, i_inside, j_inside);
            }
        }
    }
}
