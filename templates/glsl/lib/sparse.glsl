// Cells of sparse nodes. The cells of a pointer node lie in a pool; numbers say where: numbers.v[place] is the cell of the
// pool that an index leads to. Cells below FIRST_CELL are nobody's: 0 stands for what is not active, ACTIVATING for what a
// thread is about to activate, and both hold zeros, so that reading needs no question; SPARE takes what is stored when the
// pool is full. Chunks are separated by blank lines, each defines one name.

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

// Turns after which a thread no longer waits for the one that is activating, which may have been suspended.
#define PATIENCE 1000

// What is known of the cells of a pool.
layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer Pool {
    uint taken;    // how many are in use or freed
    uint freed;    // how many are deactivated and still to be emptied
    uint highest;  // how many were ever taken at a time
    uint listed;   // entries of the list that a loop runs over
    uint full;     // bit 0: a cell was asked for in vain, bit 1: an item of a list
    uint cells[];  // numbers to take, from `taken` on (0: a new one); those freed, from the capacity on
};

// Give an empty cell that nobody uses, SPARE where there is none.
uint take_cell(Pool pool, int capacity) {
    uint taken = atomicAdd(pool.taken, 1u);
    if (taken >= uint(capacity)) {
        atomicAdd(pool.taken, -1u);
        atomicOr(pool.full, 1u);
        return SPARE;
    }
    uint cell = pool.cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Note a cell that is nobody's any more, but not empty yet.
void free_cell(Pool pool, int capacity, uint cell) {
    uint freed = atomicAdd(pool.freed, 1u);
    pool.cells[uint(capacity) + freed] = cell;
}

// Give the cell at a place, activated if it is not: by one thread, however many ask at a time.
uint activate_cell(CellNumbers numbers, uint place, Pool pool, int capacity) {
    uint cell = numbers.v[place];
    for (int turn = 0; cell < FIRST_CELL; turn++) {
        cell = atomicCompSwap(numbers.v[place], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && turn > PATIENCE)) {
            uint taken = take_cell(pool, capacity);
            cell = atomicCompSwap(numbers.v[place], ACTIVATING, taken == SPARE ? 0u : taken);
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
void deactivate_cell(CellNumbers numbers, uint place, Pool pool, int capacity) {
    uint cell = numbers.v[place];
    if (cell >= FIRST_CELL && atomicCompSwap(numbers.v[place], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

bool bit_is_set(Mask mask, uint bit) {
    return (mask.v[bit / 32u] >> bit % 32u & 1u) != 0u;
}

// Set a bit; most are set already, which costs no atomic operation.
void set_bit(Mask mask, uint bit) {
    if (!bit_is_set(mask, bit)) {
        atomicOr(mask.v[bit / 32u], 1u << bit % 32u);
    }
}

// Clear a bit; tells whether this thread did, and no other before.
bool clear_bit(Mask mask, uint bit) {
    uint one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (atomicAnd(mask.v[bit / 32u], ~one) & one) != 0u;
}

// Make a list one item longer; gives the item's place, -1 where the list has its greatest length.
int append_item(Lengths lengths, uint place, int greatest, Pool pool) {
    uint length = atomicAdd(lengths.v[place], 1u);
    if (length >= uint(greatest)) {
        atomicAdd(lengths.v[place], -1u);
        atomicOr(pool.full, 2u);
        return -1;
    }
    return int(length);
}

// Make a list so long that it has an item.
void lengthen(Lengths lengths, uint place, int item) {
    uint length = lengths.v[place];
    while (length <= uint(item)) {
        uint found = atomicCompSwap(lengths.v[place], length, uint(item) + 1u);
        length = found == length ? uint(item) + 1u : found;
    }
}
