"""HIP: CUDA C with AMD's names. Source only: this project neither compiles it for a GPU nor runs it."""
