"""Passes that split a kernel into tasks."""
