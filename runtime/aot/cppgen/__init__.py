"""C++ headers for archives: one typed function for each kernel and graph."""
