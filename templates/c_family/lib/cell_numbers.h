// Cells of sparse nodes. The cells of a pointer node lie in a pool; numbers say where: numbers[place] is the cell of the
// pool that an index leads to. Cells below FIRST_CELL are nobody's: 0 stands for what is not active, ACTIVATING for what a
// thread is about to activate, and both hold zeros, so that reading needs no question; SPARE takes what is stored when the
// pool is full. Chunks are separated by blank lines, each defines one name.

#define ACTIVATING 1u

#define SPARE 2u

#define FIRST_CELL 3u

// Turns after which a thread no longer waits for the one that is activating, which may have been suspended.
#define PATIENCE 1000
