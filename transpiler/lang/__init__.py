"""What a kernel author writes, in plain Python: annotations, functions, vectors and matrices, `ti.math`."""
