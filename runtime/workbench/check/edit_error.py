"""The error for an edited source that cannot run."""

from __future__ import annotations

from ....transpiler.errors import TaichiCompilationError


class EditError(TaichiCompilationError):
    """An edited source cannot run. The message starts with the location in the user's file: `jacobi.cu:17: ...`."""

    __module__ = TaichiCompilationError.__module__
