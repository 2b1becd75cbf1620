"""Passes that cut a kernel into tasks."""
