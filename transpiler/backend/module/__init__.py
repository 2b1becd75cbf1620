"""The backend module: emitted source, its interface, and what the host needs to read what kernels print."""
