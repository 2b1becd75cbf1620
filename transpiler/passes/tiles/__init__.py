"""Passes that give the blocks of a GPU tiles: of iterations, and of arrays in shared memory."""
