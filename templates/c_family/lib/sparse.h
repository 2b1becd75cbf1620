// Concurrent allocation of cells in pools, and bit masks and lists of cells. Chunks are separated
// by blank lines, each defines one name. Included by the languages' own `sparse`, after `Pool`.

// Return a free, cleared cell, or SPARE if there is none.
FUNCTION uint32_t allocate_cell(Pool *pool, int capacity) {
    uint32_t taken = ATOMIC_ADD(&pool->taken, 1u);
    if (taken >= (uint32_t)capacity) {
        ATOMIC_SUB(&pool->taken, 1u);
        ATOMIC_OR(&pool->full, 1u);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Record a cell that is no longer in use and not yet cleared.
FUNCTION void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = ATOMIC_ADD(&pool->freed, 1u);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Return the cell of an entry. If it is inactive, exactly one of the calling threads activates it.
FUNCTION uint32_t activate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = LOAD(numbers[entry]);
    for (int iteration = 0; cell < FIRST_CELL; iteration++) {
        cell = COMPARE_AND_SWAP(&numbers[entry], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && iteration > MAX_WAIT_ITERATIONS)) {
            uint32_t taken = allocate_cell(pool, capacity);
            cell = COMPARE_AND_SWAP(&numbers[entry], ACTIVATING, taken == SPARE ? 0u : taken);
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
FUNCTION void deactivate_cell(
    uint32_t *numbers, uint32_t entry, Pool *pool, int capacity
) {
    uint32_t cell = LOAD(numbers[entry]);
    if (cell >= FIRST_CELL && COMPARE_AND_SWAP(&numbers[entry], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

FUNCTION bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (LOAD(mask[bit / 32u]) >> bit % 32u & 1u) != 0u;
}

// Of a mask that the kernel does not change.
FUNCTION bool fixed_bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (mask[bit / 32u] >> bit % 32u & 1u) != 0u;
}

// Set a bit. Most bits are set already, which costs no atomic operation.
FUNCTION void set_bit(uint32_t *mask, uint32_t bit) {
    if (!bit_is_set(mask, bit)) {
        ATOMIC_OR(&mask[bit / 32u], 1u << bit % 32u);
    }
}

// Clear a bit; returns whether this thread cleared it.
FUNCTION bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (ATOMIC_AND(&mask[bit / 32u], ~one) & one) != 0u;
}

// Append an item to a list; returns its index, or -1 if the list is full.
FUNCTION int append_item(uint32_t *lengths, uint32_t list, int capacity, Pool *pool) {
    uint32_t length = ATOMIC_ADD(&lengths[list], 1u);
    if (length >= (uint32_t)capacity) {
        ATOMIC_SUB(&lengths[list], 1u);
        ATOMIC_OR(&pool->full, 2u);
        return -1;
    }
    return (int)length;
}

// Extend a list so that it contains an item.
FUNCTION void lengthen(uint32_t *lengths, uint32_t list, int item) {
    uint32_t length = LOAD(lengths[list]);
    while (length <= (uint32_t)item) {
        uint32_t previous = COMPARE_AND_SWAP(&lengths[list], length, (uint32_t)item + 1u);
        length = previous == length ? (uint32_t)item + 1u : previous;
    }
}
