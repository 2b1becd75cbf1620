"""Shared by C and its descendants: the table of operations on scalars, selection between tensors."""
