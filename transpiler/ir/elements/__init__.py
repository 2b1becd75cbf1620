"""Where elements are in memory, as data: arrays of cells, and the number of an element."""
