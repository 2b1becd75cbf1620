"""Finds the pass of the compiler that is wrong."""
