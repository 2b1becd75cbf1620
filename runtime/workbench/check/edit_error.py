"""The error for an edited source that cannot run."""

from __future__ import annotations

from typing import Any

from ....transpiler.errors import ReportedError, TaichiCompilationError


class EditError(TaichiCompilationError):
    """An edited source cannot run. The message starts with the location in the user's file: `jacobi.cu:17: ...`."""

    __module__ = TaichiCompilationError.__module__

    def __reduce__(self) -> tuple[Any, ...]:
        """Name the class by a function, since it is not in the module that it shows."""
        _, (_, args, fields) = super().__reduce__()
        return _restored, (args, fields)


def _restored(args: tuple[Any, ...], fields: dict[str, Any]) -> EditError:
    restore, _ = ReportedError.__reduce__(EditError())
    error: EditError = restore(EditError, args, fields)
    return error
