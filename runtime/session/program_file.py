"""The file of the program that defines a function: a Python file or a notebook.

In: the file name in a function's code, and its globals. Out: a path, "" for what was typed into a shell.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

NOTEBOOK = ".ipynb"
VSCODE_NAME = "__vsc_ipynb_file__"
"""The global in which VS Code gives a notebook its path."""
JUPYTER_VARIABLE = "JPY_SESSION_NAME"
"""The variable in which Jupyter's server gives a kernel the path of its notebook; child processes inherit it."""


def program_file(code_file: str, namespace: Mapping[str, Any]) -> str:
    """Return the absolute path of the file that defines a function, "" if it has none.

    code_file: `co_filename` of its code. namespace: its globals.
    """
    if os.path.isfile(code_file):
        return os.path.abspath(code_file)
    named = namespace.get(VSCODE_NAME)
    if not isinstance(named, str) and "ipykernel" in sys.modules:
        named = os.environ.get(JUPYTER_VARIABLE, "")
        if not os.path.isabs(named):  # relative to the server's folder; a notebook runs in its own
            named = os.path.basename(named)
    if isinstance(named, str) and named.endswith(NOTEBOOK) and os.path.isfile(named):
        return os.path.abspath(named)
    return ""


def stem_of(file: str) -> str:
    """Return a program's name without its suffix; a notebook's differs from that of a Python file of its name."""
    stem, suffix = os.path.splitext(os.path.basename(file))
    return f"{stem}_ipynb" if suffix == NOTEBOOK else stem
