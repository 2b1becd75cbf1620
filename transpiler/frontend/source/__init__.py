"""What the author wrote: definitions, signatures, and what decides a specialization."""
