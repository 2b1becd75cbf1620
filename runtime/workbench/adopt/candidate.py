"""A directive that may give the source of an edit: a change of the Python source, or an option of the session.

`title` is what people read and write. Candidates are tried, not believed: the compiler says what each one gives.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.options import CompileOptions
from .python_text import FunctionText
from .same_code import Difference

PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class State:
    """A kernel with the directives found so far.

    text: its function. options: of its compilation. found: what still differs from the edit: of what is generated, and
    of the edit. changed: passes that changed it. module_name: what the file calls shadesmith, "" if it has no name.
    """

    text: FunctionText
    options: CompileOptions
    definition: KernelDefinition
    found: tuple[Difference, ...]
    changed: tuple[str, ...] = ()
    module_name: str = ""

    def removed(self) -> Iterator[str]:
        """Yield the tokens of the generated source that the edit does not have."""
        yield from (token.text for difference in self.found for token in difference.before)

    def added(self) -> Iterator[str]:
        """Yield the tokens of the edit that the generated source does not have."""
        yield from (token.text for difference in self.found for token in difference.after)

    def pairs(self) -> Iterator[tuple[str, str]]:
        """Yield tokens of the generated source with those of the edit in their places."""
        for before, after in self.found:
            if len(before) == len(after):
                yield from ((old.text, new.text) for old, new in zip(before, after, strict=True))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One directive. text: the function with it. line: that it is about, 0: it is an option of the session.

    changes: members of `CompileOptions` that it changes.
    """

    title: str
    text: FunctionText
    line: int = 0
    changes: dict[str, Any] = field(default_factory=dict)

    @property
    def is_option(self) -> bool:
        """Whether it is an option of the session, which all kernels of a program have in common."""
        return self.line == 0


def candidates(text: FunctionText | None, title: str, node: ast.expr | ast.stmt) -> Iterator[Candidate]:
    """Yield the candidate that changes a node; none if its text could not be made."""
    if text is not None:
        yield Candidate(title, text, node.lineno)


def name_of_package(definition: KernelDefinition) -> str:
    """Return what the module of a kernel calls shadesmith: "ti"; "" if it does not import it as a module."""
    for decorator in definition.tree.decorator_list:
        call = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(call, ast.Attribute) and call.attr == "kernel" and isinstance(call.value, ast.Name):
            return call.value.id
    names = definition.function.__globals__.items()
    return next((name for name, value in names if getattr(value, "__name__", "") in (PACKAGE, "taichi")), "")
