"""What the functions, methods and types of the language mean in a kernel."""
