// Cells of sparse nodes. The cells of a pointer node lie in a pool; numbers say where: numbers[place] is the cell of the
// pool that an index leads to. Cells below FIRST_CELL are nobody's: 0 stands for what is not active, ACTIVATING for what a
// thread is about to activate, and both hold zeros, so that reading needs no question; SPARE takes what is stored when the
// pool is full. Chunks are separated by blank lines, each defines one name.

#include <stdbool.h>
#include <stdint.h>

#define ACTIVATING 1u

#define SPARE 2u

#define FIRST_CELL 3u

// Turns after which a thread no longer waits for the one that is activating, which may have been suspended.
#define PATIENCE 1000

// What is known of the cells of a pool.
typedef struct Pool {
    uint32_t taken;    // how many are in use or freed
    uint32_t freed;    // how many are deactivated and still to be emptied
    uint32_t highest;  // how many were ever taken at a time
    uint32_t listed;   // entries of the list that a loop runs over
    uint32_t full;     // bit 0: a cell was asked for in vain, bit 1: an item of a list
    uint32_t cells[];  // numbers to take, from `taken` on (0: a new one); those freed, from the capacity on
} Pool;

// Replace `old` by `value`; gives what was there.
static inline uint32_t compare_and_swap(uint32_t *word, uint32_t old, uint32_t value) {
    __atomic_compare_exchange_n(word, &old, value, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    return old;
}

// Give an empty cell that nobody uses, SPARE where there is none.
static inline uint32_t take_cell(Pool *pool, int capacity) {
    uint32_t taken = __atomic_fetch_add(&pool->taken, 1u, __ATOMIC_RELAXED);
    if (taken >= (uint32_t)capacity) {
        __atomic_fetch_sub(&pool->taken, 1u, __ATOMIC_RELAXED);
        __atomic_fetch_or(&pool->full, 1u, __ATOMIC_RELAXED);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Note a cell that is nobody's any more, but not empty yet.
static inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = __atomic_fetch_add(&pool->freed, 1u, __ATOMIC_RELAXED);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Give the cell at a place, activated if it is not: by one thread, however many ask at a time.
static inline uint32_t activate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = __atomic_load_n(&numbers[place], __ATOMIC_RELAXED);
    for (int turn = 0; cell < FIRST_CELL; turn++) {
        cell = compare_and_swap(&numbers[place], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && turn > PATIENCE)) {
            uint32_t taken = take_cell(pool, capacity);
            cell = compare_and_swap(&numbers[place], ACTIVATING, taken == SPARE ? 0u : taken);
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

// Take the cell at a place away; it is emptied and given back once the loop has ended.
static inline void deactivate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = __atomic_load_n(&numbers[place], __ATOMIC_RELAXED);
    if (cell >= FIRST_CELL && compare_and_swap(&numbers[place], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

static inline bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (__atomic_load_n(&mask[bit / 32u], __ATOMIC_RELAXED) >> bit % 32u & 1u) != 0u;
}

// Set a bit; most are set already, which costs no atomic operation.
static inline void set_bit(uint32_t *mask, uint32_t bit) {
    if (!bit_is_set(mask, bit)) {
        __atomic_fetch_or(&mask[bit / 32u], 1u << bit % 32u, __ATOMIC_RELAXED);
    }
}

// Clear a bit; tells whether this thread did, and no other before.
static inline bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (__atomic_fetch_and(&mask[bit / 32u], ~one, __ATOMIC_RELAXED) & one) != 0u;
}

// Make a list one item longer; gives the item's place, -1 where the list has its greatest length.
static inline int append_item(uint32_t *lengths, uint32_t place, int greatest, Pool *pool) {
    uint32_t length = __atomic_fetch_add(&lengths[place], 1u, __ATOMIC_RELAXED);
    if (length >= (uint32_t)greatest) {
        __atomic_fetch_sub(&lengths[place], 1u, __ATOMIC_RELAXED);
        __atomic_fetch_or(&pool->full, 2u, __ATOMIC_RELAXED);
        return -1;
    }
    return (int)length;
}

// Make a list so long that it has an item.
static inline void lengthen(uint32_t *lengths, uint32_t place, int item) {
    uint32_t length = __atomic_load_n(&lengths[place], __ATOMIC_RELAXED);
    while (length <= (uint32_t)item) {
        uint32_t found = compare_and_swap(&lengths[place], length, (uint32_t)item + 1u);
        length = found == length ? (uint32_t)item + 1u : found;
    }
}
