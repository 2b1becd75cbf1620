"""Builds IR from Python's syntax tree: statements, expressions, calls. The entry is `build.build`."""
