"""The state of one build: names, values, locations, options of loops."""
