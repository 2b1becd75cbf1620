"""Notebooks: HTML of our objects, locations in cells, `%%source` and `%%kernel`."""
