"""Commands for programs that import taichi."""
