"""Analyses: they change nothing, passes ask them."""
