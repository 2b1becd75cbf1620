"""Where elements are in memory, as data: arrays of cells, their auxiliary words, the number of an element."""
