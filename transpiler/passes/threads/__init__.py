"""Passes on the threads of a block and on atomic operations."""
