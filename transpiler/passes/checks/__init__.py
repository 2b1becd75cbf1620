"""Passes that check indices, if the user enabled that."""
