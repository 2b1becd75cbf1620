"""Handlers of the functions, methods and types of the language."""
