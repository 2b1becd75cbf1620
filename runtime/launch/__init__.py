"""Kernels: from a call to a compiled instance and its launch."""
