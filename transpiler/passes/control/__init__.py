"""Passes on control flow and functions: returns, early exits, limits of drivers, split arrays."""
