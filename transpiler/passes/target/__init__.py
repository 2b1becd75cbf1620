"""Passes that fit a kernel to its target."""
