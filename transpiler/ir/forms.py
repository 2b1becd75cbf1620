"""The output of the frontend: a kernel before any pass, and the Python objects its arrays represent; its text forms."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..lazy_dataclasses import dataclass
from .captured_constant import CapturedConstant
from .nodes import Statement
from .snodes import Node
from .tasks import Kernel


@dataclass(slots=True)
class FrontendResult:
    """A kernel whose statements are nested as in the user's program, and what it depends on.

    Attributes:
        kernel: the kernel.
        fields: Python objects of captured arrays, by binding; None for a parameter.
        captured: globals read as constants, by the expression that reads them.
        warnings: messages for the user.
        trees: owners of the memory of sparse trees, by the top nodes of the trees.
        dependencies: objects that were read by a name or as a member, by identity.
        required_capabilities: member of `Capabilities`, relation, value; the frontend refuses a kernel for a target
            that lacks one of them.
        specific: values that another object or closure may have otherwise, by the expression that reads them.
    """

    kernel: Kernel
    fields: list[Any]
    captured: dict[str, CapturedConstant] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    trees: dict[Node, Any] = field(default_factory=dict)
    dependencies: dict[int, Any] = field(default_factory=dict)
    required_capabilities: list[tuple[str, str, int | str]] = field(default_factory=list)
    specific: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class IRText:
    """The text form of a kernel.

    Attributes:
        text: the lines.
        line_map: (line of the text, file, line of Python), for each line that has a Python line.
        calls: ((file, line), (file, line) of the call), for lines of functions that were inlined into their callers.
        values: the statements whose values are `$0`, `$1` and so on; none in the nested form.
        flat: of the nested form: the same kernel as flat SSA.
        statements: (line of the text, statement), at the first line of each.
    """

    text: str
    line_map: tuple[tuple[int, str, int], ...]
    calls: tuple[tuple[tuple[str, int], tuple[str, int]], ...] = ()
    values: tuple[Statement, ...] = ()
    flat: IRText | None = None
    statements: tuple[tuple[int, Statement], ...] = ()
