"""Fields and the trees of nodes that they are placed in."""
