"""Scopes: the variables of the blocks of a function, and names from outside it.

Input: the function under construction. Output: `Frame`, one for the kernel and one for each inlined call.
"""

from __future__ import annotations

import ast
import builtins
from dataclasses import field
from typing import Any

from ...errors import SourceLocation
from ...ir.functions import Function
from ...ir.nodes import Block, Statement
from ...ir.statements import Alloca, LocalStore, Return
from ...lazy_dataclasses import dataclass
from ..source.definition import KernelDefinition, location_of

MISSING = object()
"""Result of a look-up of an undefined name."""


@dataclass(slots=True)
class Local:
    """A variable. node: what declares it. is_loop_index: it may not be assigned."""

    value: Any
    node: ast.AST | None
    is_loop_index: bool = False


@dataclass(eq=False, slots=True)
class Exit:
    """An exit that has no statement of its own: `return` of an inlined function, `break` and `continue` of an unrolled
    loop.

    Attributes:
        block, position: where a flag may be declared.
        loops: number of run-time loops around the code that is left.
        flag: the variable that records that the exit was taken.
        stores: blocks and statements that set the flag.
        stores_read: number of stores when the flag was last read; later stores are dropped.
    """

    name: str
    block: Block
    position: int
    loops: int
    flag: Alloca | None = None
    stores: list[tuple[Block, Statement]] = field(default_factory=list)
    stores_read: int = 0


@dataclass(eq=False, slots=True)
class Result:
    """Values that an inlined function returns on several paths. variables: one per value."""

    variables: list[Alloca] = field(default_factory=list)
    stores: list[list[tuple[Block, LocalStore]]] = field(default_factory=list)
    is_tuple: bool = False


@dataclass(eq=False, slots=True)
class Frame:
    """A function under construction.

    Attributes:
        definition: of the function.
        entry: the first block of its body.
        leave: the exit that `return` takes; None in a kernel and in a function of the emitted source.
        value: the returned value, if there is a single `return`.
        returned: it contains a `return`.
        function: the function of the emitted source under construction, if it is one.
        returns: of a function whose result types follow from its body, its `return`s and the blocks that contain them.
        call_site: where it is inlined.
        is_library: it is code of shadesmith (`ti.math`), whose lines mean nothing to the user.
        hides_names: nor do its names.
        captured: values from enclosing functions.
        references: by parameter, the caller's frame and the argument expression in it.
        recorded: objects from outside that were read, by name, if it makes no difference how often they are read.
    """

    definition: KernelDefinition
    call_site: SourceLocation | None = None
    entry: Block = field(default_factory=Block)
    leave: Exit | None = None
    value: Any = None
    result: Result | None = None
    returned: bool = False
    is_library: bool = False
    hides_names: bool = False
    references: dict[str, tuple[Frame, ast.expr]] = field(default_factory=dict)
    function: Function | None = None
    returns: list[tuple[Block, Return]] | None = None
    captured: dict[str, Any] = field(init=False)
    scopes: list[dict[str, Local]] = field(default_factory=lambda: [{}])
    locations: dict[ast.AST, SourceLocation] = field(default_factory=dict)
    recorded: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.captured = self.definition.captured

    def find(self, name: str) -> Local | None:
        """Return the variable `name` of the nearest block, or None."""
        for scope in reversed(self.scopes):
            if name in scope:
                return scope[name]
        return None

    def declare(self, name: str, value: Any, node: ast.AST | None, is_loop_index: bool = False) -> None:
        """Make `name` a variable of the innermost block."""
        self.scopes[-1][name] = Local(value, node, is_loop_index)

    def outer(self, name: str) -> Any:
        """Return the value of `name` outside the function: captured, global or built in; `MISSING` if undefined."""
        if name in self.captured:
            return self.captured[name]
        function_globals = self.definition.function.__globals__
        if name in function_globals:
            return function_globals[name]
        return getattr(builtins, name, MISSING)

    def known_names(self) -> list[str]:
        """Return all visible names, for spelling hints."""
        names = [name for scope in self.scopes for name in scope]
        names += self.captured
        names += self.definition.function.__globals__
        return names

    def location(self, node: ast.AST) -> SourceLocation:
        """Return the location of `node`, which is cached."""
        if self.is_library and self.call_site is not None:
            return self.call_site
        cached = self.locations.get(node)
        if cached is None:
            definition = self.definition
            cached = location_of(definition.parsed.source, node, definition.function_name, self.call_site)
            self.locations[node] = cached
        return cached
