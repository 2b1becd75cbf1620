// Cells of pools, and bits and lists of cells, taken and given back by many threads. Chunks are separated by blank lines,
// each defines one name. Included by the languages' own `sparse`, after `Pool`.

// Give an empty cell that nobody uses, SPARE where there is none.
FUNCTION uint32_t take_cell(Pool *pool, int capacity) {
    uint32_t taken = ATOMIC_ADD(&pool->taken, 1u);
    if (taken >= (uint32_t)capacity) {
        ATOMIC_SUB(&pool->taken, 1u);
        ATOMIC_OR(&pool->full, 1u);
        return SPARE;
    }
    uint32_t cell = pool->cells[taken];
    return cell != 0u ? cell : FIRST_CELL + taken;
}

// Note a cell that is nobody's any more, but not empty yet.
FUNCTION void free_cell(Pool *pool, int capacity, uint32_t cell) {
    uint32_t freed = ATOMIC_ADD(&pool->freed, 1u);
    pool->cells[(uint32_t)capacity + freed] = cell;
}

// Give the cell at a place, activated if it is not: by one thread, however many ask at a time.
FUNCTION uint32_t activate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = LOAD(numbers[place]);
    for (int turn = 0; cell < FIRST_CELL; turn++) {
        cell = COMPARE_AND_SWAP(&numbers[place], 0u, ACTIVATING);
        if (cell == 0u || (cell == ACTIVATING && turn > PATIENCE)) {
            uint32_t taken = take_cell(pool, capacity);
            cell = COMPARE_AND_SWAP(&numbers[place], ACTIVATING, taken == SPARE ? 0u : taken);
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
FUNCTION void deactivate_cell(uint32_t *numbers, uint32_t place, Pool *pool, int capacity) {
    uint32_t cell = LOAD(numbers[place]);
    if (cell >= FIRST_CELL && COMPARE_AND_SWAP(&numbers[place], cell, 0u) == cell) {
        free_cell(pool, capacity, cell);
    }
}

FUNCTION bool bit_is_set(const uint32_t *mask, uint32_t bit) {
    return (LOAD(mask[bit / 32u]) >> bit % 32u & 1u) != 0u;
}

// Set a bit; most are set already, which costs no atomic operation.
FUNCTION void set_bit(uint32_t *mask, uint32_t bit) {
    if (!bit_is_set(mask, bit)) {
        ATOMIC_OR(&mask[bit / 32u], 1u << bit % 32u);
    }
}

// Clear a bit; tells whether this thread did, and no other before.
FUNCTION bool clear_bit(uint32_t *mask, uint32_t bit) {
    uint32_t one = 1u << bit % 32u;
    return bit_is_set(mask, bit) && (ATOMIC_AND(&mask[bit / 32u], ~one) & one) != 0u;
}

// Make a list one item longer; gives the item's place, -1 where the list has its greatest length.
FUNCTION int append_item(uint32_t *lengths, uint32_t place, int greatest, Pool *pool) {
    uint32_t length = ATOMIC_ADD(&lengths[place], 1u);
    if (length >= (uint32_t)greatest) {
        ATOMIC_SUB(&lengths[place], 1u);
        ATOMIC_OR(&pool->full, 2u);
        return -1;
    }
    return (int)length;
}

// Make a list so long that it has an item.
FUNCTION void lengthen(uint32_t *lengths, uint32_t place, int item) {
    uint32_t length = LOAD(lengths[place]);
    while (length <= (uint32_t)item) {
        uint32_t found = COMPARE_AND_SWAP(&lengths[place], length, (uint32_t)item + 1u);
        length = found == length ? (uint32_t)item + 1u : found;
    }
}
