"""Threads that share the serial loops over rows and columns of arrays."""
