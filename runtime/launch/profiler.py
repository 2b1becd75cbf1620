"""`ti.profiler`: a report of the memory in use. Times of kernels come with a later issue.

In: the current session. Out: a table on standard output.
"""

from __future__ import annotations

import sys

from ..fields.memory_report import names_in, table
from ..missing_names import missing
from ..session.session import current

__all__ = ["print_memory_profiler_info"]


def print_memory_profiler_info() -> None:
    """Print how much memory of the device each field, ndarray and tree owns, the largest first.

    Names are those given as `name=`, else the variables of the caller and its module.
    Raises: TaichiRuntimeError before `ti.init()`.
    """
    caller = sys._getframe(1)
    sys.stdout.write(table(current(), names_in(caller.f_locals, caller.f_globals)))


def __getattr__(name: str) -> object:
    raise missing("ti.profiler", name)
