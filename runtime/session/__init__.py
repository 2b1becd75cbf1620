"""A session: one device, its options, and everything that lives on it."""
