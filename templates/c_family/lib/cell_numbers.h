// Cells of sparse nodes. The cells of a pointer node are stored in a pool: numbers[entry] is the
// number in the pool of the cell that an index refers to. Numbers below FIRST_CELL are reserved: 0
// is an inactive cell, ACTIVATING one that a thread is about to activate; both hold zeros, so that
// a read needs no test. SPARE takes what is stored when the pool is full. Chunks are separated by
// blank lines, each defines one name.

#define ACTIVATING 1u

#define SPARE 2u

#define FIRST_CELL 3u

// Iterations after which a thread stops waiting for the one that activates the cell, which may have
// been suspended.
#define MAX_WAIT_ITERATIONS 1000
