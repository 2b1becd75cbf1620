// Cells of sparse nodes. The cells of a pointer node are stored in a pool: numbers.v[entry] is the
// number in the pool of the cell that an index refers to. Numbers below FIRST_CELL are reserved: 0
// is an inactive cell, ACTIVATING one that a thread is about to activate; both hold zeros, so that
// a read needs no test. SPARE takes what is stored when the pool is full. Chunks are separated by
// blank lines, each defines one name.

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer CellNumbers {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Mask {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Lengths {
    uint v[];
};

#define ACTIVATING 1u

#define SPARE 2u

#define FIRST_CELL 3u

// Iterations after which a thread stops waiting for the one that activates the cell, which may have
// been suspended.
#define MAX_WAIT_ITERATIONS 1000

// The state of a pool of cells.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // cells in use or freed
    uint freed;    // cells that are deactivated and not yet cleared
    uint highest;  // maximum of `taken`
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: no cell was left for a request, bit 1: no item of a list
    uint cells[];  // from `taken` on: free cells, 0: a new one; from the capacity on: freed
};

// Return a free, cleared cell, or SPARE if there is none.
uint allocate_cell(Pool pool, int capacity) {
    uint taken = atomicAdd(pool.taken, 1u);
    if (taken >= uint(capacity)) {
        atomicAdd(pool.taken, -1u);
        atomicOr(pool.full, 1u);
        return SPARE;
    }
    uint cell = pool.cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Record a cell that is no longer in use and not yet cleared.
void free_cell(Pool pool, int capacity, uint cell) {
    uint freed = atomicAdd(pool.freed, 1u);
    pool.cells[uint(capacity) + freed] = cell;
}

// Return the cell of an entry. If it is inactive, exactly one of the calling threads activates it.
uint activate_cell(CellNumbers numbers, uint entry, Pool pool, int capacity) {
    uint cell = numbers.v[entry];
    for (int iteration = 0; cell < FIRST_CELL; iteration++) {
        cell = atomicCompSwap(numbers.v[entry], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && iteration > MAX_WAIT_ITERATIONS)) {
            uint taken = allocate_cell(pool, capacity);
            cell = atomicCompSwap(numbers.v[entry], ACTIVATING, taken == SPARE ? 0u : taken);
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

// Deactivate the cell of an entry; it is cleared and returned to the pool after the loop.
void deactivate_cell(CellNumbers numbers, uint entry, Pool pool, int capacity) {
    uint cell = numbers.v[entry];
    if (cell >= FIRST_CELL && atomicCompSwap(numbers.v[entry], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

bool bit_is_set(Mask mask, uint bit) {
    return (mask.v[bit / 32u] >> bit % 32u & 1u) != 0u;
}

// Set a bit. Most bits are set already, which costs no atomic operation.
void set_bit(Mask mask, uint bit) {
    if (!bit_is_set(mask, bit)) {
        atomicOr(mask.v[bit / 32u], 1u << bit % 32u);
    }
}

// Clear a bit; returns whether this thread cleared it.
bool clear_bit(Mask mask, uint bit) {
    uint one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (atomicAnd(mask.v[bit / 32u], ~one) & one) != 0u;
}

// Append an item to a list; returns its index, or -1 if the list is full.
int append_item(Lengths lengths, uint list, int capacity, Pool pool) {
    uint length = atomicAdd(lengths.v[list], 1u);
    if (length >= uint(capacity)) {
        atomicAdd(lengths.v[list], -1u);
        atomicOr(pool.full, 2u);
        return -1;
    }
    return int(length);
}

// Extend a list so that it contains an item.
void lengthen(Lengths lengths, uint list, int item) {
    uint length = lengths.v[list];
    while (length <= uint(item)) {
        uint previous = atomicCompSwap(lengths.v[list], length, uint(item) + 1u);
        length = previous == length ? uint(item) + 1u : previous;
    }
}
