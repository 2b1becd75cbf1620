"""Passes that run several iterations of a GPU's loops as one, by accesses of 16 bytes."""
