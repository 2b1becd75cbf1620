"""Commands on the passes of the compiler."""
