"""Taichi's inner modules under the paths programs import them by; the root package puts them into `sys.modules`."""
