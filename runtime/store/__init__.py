"""Files on disk: entries of the cache, binaries of compilers, and the identity of the compiler that made them."""
