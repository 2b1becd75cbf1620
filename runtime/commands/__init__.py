"""The subcommands of `shadesmith`, a module each: `add_arguments(parser)` and `run(options, screen) -> exit status`."""
