"""CUDA C for NVRTC, which gets no headers."""
