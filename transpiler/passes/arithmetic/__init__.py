"""Cheaper instructions for the same numbers, within what `fast_math` allows."""
