"""Errors and warnings of one build, each with the current location."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from ...errors import (
    E,
    SourceLocation,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiTypeError,
)
from ...ir.builder import Builder
from ..source.named_numbers import plain
from .scope import Frame

ERROR_OF: dict[type[Exception], type[TaichiCompilationError]] = {
    TypeError: TaichiTypeError,
    IndexError: TaichiIndexError,
    NameError: TaichiNameError,
}
"""Errors of compile-time code and their replacements; all others become `TaichiCompilationError`."""

COMPUTED_BY_PYTHON = "no operand is a run-time value, so Python evaluates this at compile time; write it as in Python"


class Reporter:
    """Creates errors and collects warnings. frames: the functions under construction, the innermost last.

    warnings: the messages, which are shown after the compilation.
    """

    def __init__(self, builder: Builder, frames: Sequence[Frame]) -> None:
        self.builder = builder
        self.frames = frames
        self.warnings: list[str] = []
        self._warned: set[tuple[str, int, int, str]] = set()

    def location(self, node: ast.AST | None = None) -> SourceLocation:
        """Return the location of `node`, by default the current one."""
        return self.builder.location if node is None else self.frames[-1].location(node)

    def error(
        self,
        kind: type[E],
        message: str,
        hint: str | None = None,
        node: ast.AST | None = None,
    ) -> E:
        """Return (not raise) an error at `node`, by default at the current location."""
        return self.location(node).error(kind, message, hint)

    def warn(self, message: str, hint: str, node: ast.AST | None = None, kind: str = "") -> None:
        """Record a warning at `node`, by default at the current location; it is shown after the compilation.

        A line that is built many times, in unrolled loops and inlined functions, warns once. kind: of a warning that a
        kernel has at most once.
        """
        where = self.location(node)
        key = ("", 0, 0, kind) if kind else (where.file, where.line, where.column, message)
        if key not in self._warned:
            self._warned.add(key)
            self.warnings.append(where.explained(message, hint))

    def mark(self) -> tuple[int, set[tuple[str, int, int, str]]]:
        """Return the state to which `reset` returns."""
        return len(self.warnings), set(self._warned)

    def reset(self, mark: tuple[int, set[tuple[str, int, int, str]]]) -> None:
        """Forget the warnings since `mark`: what they are about is built again."""
        del self.warnings[mark[0] :]
        self._warned = mark[1]

    def call_user(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call user code at compile time; an exception of it becomes an error at the current location."""
        try:
            return function(*map(plain, args), **{name: plain(value) for name, value in kwargs.items()})
        except (TaichiCompilationError, TaichiRuntimeError) as error:
            kind = type(error) if isinstance(error, TaichiCompilationError) else TaichiCompilationError
            if error.location is not None and kind is type(error):
                raise
            raise self.error(kind, error.message, error.hint or COMPUTED_BY_PYTHON) from None
        except Exception as error:
            kind = next(
                (reported for raised, reported in ERROR_OF.items() if isinstance(error, raised)), TaichiCompilationError
            )
            raise self.error(kind, f"{type(error).__name__}: {error}", COMPUTED_BY_PYTHON) from None
