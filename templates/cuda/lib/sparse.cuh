// Cells of sparse nodes. The cells of a pointer node lie in a pool; numbers say where: numbers[place] is the cell of the
// pool that an index leads to. Cells below FIRST_CELL are nobody's: 0 stands for what is not active, ACTIVATING for what a
// thread is about to activate, and both hold zeros, so that reading needs no question; SPARE takes what is stored when the
// pool is full. Chunks are separated by blank lines, each defines one name.

#include "types.cuh"

#define ACTIVATING 1u

#define SPARE 2u

#define FIRST_CELL 3u

// Turns after which a thread no longer waits for the one that is activating, which may have been suspended.
#define PATIENCE 1000

// What is known of the cells of a pool.
struct Pool {
    uint32_t taken;     // how many are in use or freed
    uint32_t freed;     // how many are deactivated and still to be emptied
    uint32_t highest;   // how many were ever taken at a time
    uint32_t listed;    // entries of the list that a loop runs over
    uint32_t full;      // bit 0: a cell was asked for in vain, bit 1: an item of a list
    uint32_t cells[1];  // numbers to take, from `taken` on (0: a new one); those freed, from the capacity on
};

// Give an empty cell that nobody uses, SPARE where there is none.
__device__ inline uint32_t take_cell(Pool *pool, int capacity) {
    uint32_t taken = atomicAdd(&pool->taken, 1u);
    if (taken >= (uint32_t)capacity) {
        atomicSub(&pool->taken, 1u);
        atomicOr(&pool->full, 1u);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Note a cell that is nobody's any more, but not empty yet.
__device__ inline void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = atomicAdd(&pool->freed, 1u);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Give the cell at a place, activated if it is not: by one thread, however many ask at a time.
__device__ inline uint32_t activate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = numbers[place];
    for (int turn = 0; cell < FIRST_CELL; turn++) {
        cell = atomicCAS(&numbers[place], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && turn > PATIENCE)) {
            uint32_t taken = take_cell(pool, capacity);
            cell = atomicCAS(&numbers[place], ACTIVATING, taken == SPARE ? 0u : taken);
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
__device__ inline void deactivate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = numbers[place];
    if (cell >= FIRST_CELL && atomicCAS(&numbers[place], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

__device__ inline bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (mask[bit / 32u] >> bit % 32u & 1u) != 0u;
}

// Set a bit; most are set already, which costs no atomic operation.
__device__ inline void set_bit(uint32_t *mask, uint32_t bit) {
    if (!bit_is_set(mask, bit)) {
        atomicOr(&mask[bit / 32u], 1u << bit % 32u);
    }
}

// Clear a bit; tells whether this thread did, and no other before.
__device__ inline bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (atomicAnd(&mask[bit / 32u], ~one) & one) != 0u;
}

// Make a list one item longer; gives the item's place, -1 where the list has its greatest length.
__device__ inline int append_item(uint32_t *lengths, uint32_t place, int greatest, Pool *pool) {
    uint32_t length = atomicAdd(&lengths[place], 1u);
    if (length >= (uint32_t)greatest) {
        atomicSub(&lengths[place], 1u);
        atomicOr(&pool->full, 2u);
        return -1;
    }
    return (int)length;
}

// Make a list so long that it has an item.
__device__ inline void lengthen(uint32_t *lengths, uint32_t place, int item) {
    uint32_t length = lengths[place];
    while (length <= (uint32_t)item) {
        uint32_t found = atomicCAS(&lengths[place], length, (uint32_t)item + 1u);
        length = found == length ? (uint32_t)item + 1u : found;
    }
}
