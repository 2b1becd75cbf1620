"""Prints tasks: which value is printed where, expressions, statements, functions."""
