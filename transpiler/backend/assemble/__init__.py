"""Assembles printed tasks, declarations and helpers into files: the backend's entry is `emit`."""
