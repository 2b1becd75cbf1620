"""Windows, pictures and widgets."""
