"""What the command `shadesmith` can do, a module a subcommand."""
