"""Below IPython: errors name cells and come without IPython's own lines; the magics are there.

In: IPython's shell. Out: `install`, which may be called again.
"""

from __future__ import annotations

import sys
from typing import Any

from ...transpiler import errors
from .magics import MAGICS


def install(shell: Any) -> None:
    """Install everything in a shell."""

    def name_of_cell(file: str) -> str:
        """Return "Cell In[3]" for the file of a cell, "" for other files."""
        named = getattr(shell.compile, "format_code_name", lambda name: None)(file)
        return " ".join(named) if named else ""

    errors.CELL_NAMES[:] = [name_of_cell]
    shell.set_custom_exc((errors.ReportedError,), _show)
    for name, magic in MAGICS.items():
        shell.register_magic_function(magic(shell), "cell", name)


def _show(shell: Any, kind: type[BaseException], error: BaseException, trace: Any, tb_offset: int | None = None) -> Any:
    """Show an error: the line of the call, then the message, which has the location in the kernel."""
    lines = [f"{kind.__name__}: {error}"]
    frames = []
    while trace is not None:
        code = trace.tb_frame.f_code
        named = getattr(shell.compile, "format_code_name", lambda name: None)(code.co_filename)
        if named:
            frames.append(f"{' '.join(named)}, line {trace.tb_lineno}, in {code.co_name}")
        trace = trace.tb_next
    lines[:0] = frames
    if hasattr(shell, "_showtraceback"):
        shell._showtraceback(kind, error, lines)  # a kernel sends these lines to its notebook, a terminal prints them
    else:
        print("\n".join(lines), file=sys.stderr)
    return lines
