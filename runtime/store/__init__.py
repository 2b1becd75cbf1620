"""Files on disk: entries of the cache, binaries of compilers, which compiler made them."""
