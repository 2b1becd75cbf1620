"""Passes that check indices, if the user asked for it."""
