// Cells of sparse nodes. Chunks are separated by blank lines, each defines one name.

#include "dialect.h"

#include "../../c_family/lib/cell_numbers.h"

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

#include "../../c_family/lib/sparse.h"
