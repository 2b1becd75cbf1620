"""Taichi's internal modules under their import paths; the root package puts them into `sys.modules`."""
