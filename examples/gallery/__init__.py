"""The gallery: programs with a function `picture`, which simulates and returns colours, shape (width, height, 3)."""
