"""Passes that depend on the target."""
