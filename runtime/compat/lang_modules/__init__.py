"""The modules of Taichi's `ti.lang`."""
