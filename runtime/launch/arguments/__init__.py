"""Arguments of a call: what a kernel is specialised on, keys, flattened packs, packing."""
