"""HIP: CUDA C with AMD's names. Source only: nothing in this project compiles it for a GPU or runs it."""
