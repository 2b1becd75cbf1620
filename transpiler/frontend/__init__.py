"""From Python's syntax tree to IR: everything static is evaluated, every `@ti.func` inlined."""
