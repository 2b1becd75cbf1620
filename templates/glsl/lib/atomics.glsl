// Memory as words, for compare-and-swap on numbers that have no atomic operations of their own.
// Chunks are separated by blank lines, each defines one name; a source includes those it uses.

layout(buffer_reference, scalar, buffer_reference_align = 4) coherent buffer AtomicU32 {
    uint v[];
};

layout(buffer_reference, scalar, buffer_reference_align = 8) coherent buffer AtomicU64 {
    uint64_t v[];
};
