"""`python -m shadesmith`: what a shell can ask of shadesmith."""

from .runtime.commands.command_line import main

if __name__ == "__main__":
    raise SystemExit(main())
