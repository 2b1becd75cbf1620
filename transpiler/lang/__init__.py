"""The language of kernels as plain Python: annotations, functions, vectors and matrices, `ti.math`."""
