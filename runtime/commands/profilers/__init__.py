"""Commands that run and read profilers."""
