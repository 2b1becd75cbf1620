"""Runs the final form of a kernel in Python: the oracle of the tests, and `arch=ti.python`."""
