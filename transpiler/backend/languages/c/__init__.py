"""C11 with GNU extensions, as gcc and clang take it; threads of a block are iterations of loops."""
