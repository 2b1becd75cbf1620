"""Commands on archives of compiled kernels."""
