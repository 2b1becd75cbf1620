"""Commands that carry edits back to Python."""
