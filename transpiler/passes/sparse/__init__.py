"""Passes on struct-for loops, and on the cells of sparse trees."""
