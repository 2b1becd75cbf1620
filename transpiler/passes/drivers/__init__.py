"""Passes that keep a kernel right where a GPU's driver is wrong; docs/numerics.md lists the defects."""
