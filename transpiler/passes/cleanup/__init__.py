"""Passes that make a kernel smaller without changing a result; they run until nothing changes."""
