"""Join the files of `sections/`, in the order of their names, to the one file that ships: `shadesmith.c`.

    python runtime/c_api/join.py

The sections are one translation unit: each uses what those before it define. `shadesmith.c` is generated; edit a
section and run this (`make c-api`). tests/architecture/test_c_sections.py says when the two differ.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent


def joined() -> str:
    """Return the source of `shadesmith.c`: the sections with a blank line between them."""
    return "\n".join(path.read_text("utf-8") for path in sorted((FOLDER / "sections").glob("*.c")))


if __name__ == "__main__":
    (FOLDER / "shadesmith.c").write_text(joined(), "utf-8", newline="\n")
