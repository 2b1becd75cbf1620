"""`python -m shadesmith`: the command line."""

from .runtime.commands.command_line import main

if __name__ == "__main__":
    raise SystemExit(main())
