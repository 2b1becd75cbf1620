"""Passes on loops over cells, and on cells of sparse trees."""
