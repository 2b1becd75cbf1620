"""Kernels as data on disk and back, without loss."""
