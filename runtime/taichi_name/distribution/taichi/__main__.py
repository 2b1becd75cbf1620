"""`python -m taichi`: Taichi's command line."""

from shadesmith.runtime.ti import main

if __name__ == "__main__":
    raise SystemExit(main())
