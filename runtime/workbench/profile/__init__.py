"""Profiles of programs: by shadesmith's own clock, and from NVIDIA's profilers, joined to lines of sources."""
