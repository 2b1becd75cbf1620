"""Where values are in memory: the members of `Args`, accessors of arrays, structs, trees of fields."""
