"""Back to Python: the directives that give the source of an edit, and the Python file with them."""
