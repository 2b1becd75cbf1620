// Cells of sparse nodes. Chunks are separated by blank lines, each defines one name.

#include "dialect.cuh"

#include "../../c_family/lib/cell_numbers.h"

// What is known of the cells of a pool.
struct Pool {
    uint32_t taken;     // how many are in use or freed
    uint32_t freed;     // how many are deactivated and still to be emptied
    uint32_t highest;   // how many were ever taken at a time
    uint32_t listed;    // entries of the list that a loop runs over
    uint32_t full;      // bit 0: a cell was asked for in vain, bit 1: an item of a list
    uint32_t cells[1];  // numbers to take, from `taken` on (0: a new one); those freed, from the capacity on
};

#include "../../c_family/lib/sparse.h"
