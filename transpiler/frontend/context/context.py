"""The state of one build, and the services every handler uses: evaluate a node, create a value, report an error.

Handlers for syntax nodes register in `EXPRESSIONS` and `STATEMENTS`; `build.py` imports the modules that do.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Set
from contextlib import contextmanager
from dataclasses import field
from functools import partial
from typing import Any, NoReturn, TypeVar

from ...errors import E, SourceLocation, TaichiNameError, TaichiSyntaxError
from ...ir.builder import Builder
from ...ir.functions import Function
from ...ir.nodes import Block, Statement
from ...ir.statements import Alloca, If, RangeFor
from ...ir.tasks import Kernel
from ...ir.types import SCALARS, Type
from ...lang import struct as lang
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass
from ..source.definition import KernelDefinition
from ..source.named_numbers import named
from ..source.specialization import Specialization
from ..source.unsupported import REASONS
from .arrays import Arrays
from .dependencies import Dependencies
from .exits import Exits
from .nesting import Nesting
from .per_iteration import NeedsUnroll, PerIteration, StaticLoop, narrowed
from .reporter import Reporter
from .runtime_values import RuntimeValues
from .scope import MISSING, Frame
from .spelling_hints import missing_name_hint
from .static_numbers import StaticNumbers
from .struct_types import StructTypes
from .values import Lvalue, is_number

Handler = Callable[["Context", Any], Any]
H = TypeVar("H", bound=Handler)

EXPRESSIONS: dict[type[ast.AST], Handler] = {}
STATEMENTS: dict[type[ast.AST], Handler] = {}


class NeedsMemory(Exception):
    """A variable that was built as a value is changed later; `node` declares it. The build starts again.

    mutable: the set of its function, to which `node` has to be added.
    """

    def __init__(self, node: ast.AST, frame: Frame) -> None:
        super().__init__()
        self.node = node
        self.mutable = frame.definition.parsed.mutable


NAMED_IN_LIBRARY = frozenset({"pi", "two_pi", "log_of_2"})
"""Numbers of our own functions that sources name."""
MODULE_OF_NUMBERS = "ti.math"


class NeedsInlining(BaseException):
    """A call of a function needs the function's statements in its place.

    It is no `Exception`, since it passes through handlers of errors in the user's Python functions.
    """


def expression(*kinds: type[ast.AST]) -> Callable[[H], H]:
    """Register the decorated function for these expression nodes."""

    def register(handler: H) -> H:
        for kind in kinds:
            EXPRESSIONS[kind] = handler
        return handler

    return register


def statement(*kinds: type[ast.AST]) -> Callable[[H], H]:
    """Register the decorated function for these statement nodes."""

    def register(handler: H) -> H:
        for kind in kinds:
            STATEMENTS[kind] = handler
        return handler

    return register


@dataclass(slots=True)
class FunctionTable:
    """The functions of the emitted source of a kernel.

    Attributes:
        built: by definition and by specialization.
        pending: those whose bodies are not built yet.
        inferred: functions made of calls of `ti.func`s (`function_calls.Built`), by definition and by specialization.
        static_numbers: parameters of these that are not numbers at run time.
        looping: those of them that contain loops.
        arguments: objects that specializations identify by identity, referenced so that they stay alive.
    """

    built: dict[KernelDefinition, dict[Hashable, Function]] = field(default_factory=dict)
    pending: deque[Any] = field(default_factory=deque)
    arguments: list[Any] = field(default_factory=list)
    inferred: dict[KernelDefinition, dict[tuple[Hashable, ...], Any]] = field(default_factory=dict)
    static_numbers: set[tuple[KernelDefinition, str]] = field(default_factory=set)
    looping: set[Function] = field(default_factory=set)


class Context:
    """One build.

    Attributes:
        specialization: its input.
        options: of the session.
        frames: the functions under construction, the innermost last.
        kernel: the result so far.
        builder: appends statements to the current block.
        values: creates run-time values.
        numbers: creates expressions of the numbers of static loops.
        arrays: creates the kernel's arrays.
        exits: creates exits of inlined functions and unrolled loops.
        dependencies: objects from outside the kernel that were read.
        nesting: loops and branches around the current statement.
        truth_node: an expression of which only the truth value is used.
        in_static: whether the argument of a `ti.static` is being evaluated.
        by_reference: whether lists that are evaluated hold variables, not their values.
        unrolled: the static loops that cannot be kept as loops.
        rolled_loops: the static loops that stay loops, so far.
        lists: the lists of run-time values that have a name (`local_lists.OwnList`), by identity.
        static_loops: the static loops around the current statement that are kept, the innermost last.
        items_built: over how many items the kernel has iterated at compile time.
        bounds_of_ranges: the bounds of ranges known at compile time, with their names, by the range's identity.
    """

    def __init__(self, specialization: Specialization, unrolled: Set[ast.AST] = frozenset()) -> None:
        definition = specialization.definition
        self.specialization = specialization
        self.options = specialization.options
        self.default_fp = SCALARS[self.options.default_fp]
        self.frames: list[Frame] = [Frame(definition)]
        self.kernel = Kernel(definition.name, [], [], [], self.frame.entry, location=definition.location())
        self.builder = Builder(self.kernel.body, self.kernel.location, self.default_fp)
        self.reporter = Reporter(self.builder, self.frames)
        self.structs = StructTypes(self.frames)
        self.dependencies = Dependencies(specialization.capabilities)
        self.numbers = StaticNumbers(self.builder, self.options)
        self.values = RuntimeValues(self.builder, self.reporter, self.structs, self.options, self.numbers)
        self.arrays = Arrays(self.kernel, self.reporter, self.structs, self.dependencies)
        self.exits = Exits(self.builder)
        self.nesting = Nesting(self.kernel.body)
        self.functions = FunctionTable()
        self.truth_node: ast.expr | None = None
        self.in_static = False
        self.by_reference = False
        self.unrolled = unrolled
        self.static_loops: list[StaticLoop] = []
        self.rolled_loops: set[RangeFor] = set()
        self.lists: dict[int, Any] = {}
        self.items_built = 0
        self.bounds_of_ranges: dict[int, tuple[range, Any, Any]] = {}

    @property
    def frame(self) -> Frame:
        """The function under construction."""
        return self.frames[-1]

    def enter(self, frame: Frame) -> None:
        """Continue with the body of a real function, outside all loops."""
        self.frames[:] = [frame]
        self.builder.block = frame.entry
        self.nesting = Nesting(frame.entry)

    # --- errors and user code ---------------------------------------------------------------------------------------

    def location(self, node: ast.AST | None = None) -> SourceLocation:
        """Return the location of `node`, by default the current one."""
        return self.reporter.location(node)

    def error(self, kind: type[E], message: str, hint: str | None = None, node: ast.AST | None = None) -> E:
        """Return (not raise) an error at `node`, by default at the current location."""
        return self.reporter.error(kind, message, hint, node)

    def warn(self, message: str, hint: str, node: ast.AST | None = None, kind: str = "") -> None:
        """Record a warning at `node`, by default at the current location. kind: of one that a kernel has once."""
        self.reporter.warn(message, hint, node, kind)

    def python(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call user code at compile time; an exception in it becomes an error at the current location."""
        return self.reporter.call_user(function, *args, **kwargs)

    # --- evaluation -----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Any:
        """Return the value of an expression: a Python object, a statement or an `Lvalue`."""
        kind = node.__class__
        if kind is ast.Constant:
            return node.value  # type: ignore[attr-defined]
        if kind is ast.Name:
            return self.name(node)  # type: ignore[arg-type]
        handler = EXPRESSIONS.get(kind)
        if handler is None:
            self.unsupported(node)
        builder = self.builder
        outer, builder.location = builder.location, self.frames[-1].location(node)
        result = handler(self, node)
        builder.location = outer
        return result

    def name(self, node: ast.Name) -> Any:
        """Return the value of a name. Raises: TaichiNameError."""
        frame = self.frames[-1]
        local = frame.find(node.id)
        if local is not None:
            return local.value
        value = frame.outer(node.id)
        if value is not MISSING and value is frame.recorded.get(node.id, MISSING):
            return value
        if value is MISSING:
            hint = missing_name_hint(self.frame, node)
            raise self.error(TaichiNameError, f'Name "{node.id}" is not defined', hint, node)
        self.record_dependency(value, node.id, node.id, partial(self.frame.definition.outer, node.id), node)
        if node.id in self.frame.captured and not self.frame.hides_names:
            self.dependencies.record_specific(value, node.id)
        if not isinstance(value, (Matrix, lang.Struct)) and not is_number(value):
            self.frame.recorded[node.id] = value
            return value
        return self.named(value, node.id)

    def named(self, value: Any, name: str, note: str = "") -> Any:
        """Return a number from outside the kernel with its name; most numbers of our own functions stay as they are."""
        is_user = not (self.frame.is_library or self.frame.hides_names)
        if not is_user and name in NAMED_IN_LIBRARY:
            return named(value, name, f"{MODULE_OF_NUMBERS}.{name}", self.options)
        if is_user and isinstance(value, Matrix):
            self.values.vectors.setdefault(id(value), (value, name, note or name))
        return named(value, name, note, self.options) if is_user else value

    def named_bounds(self, numbers: range) -> tuple[Any, Any]:
        """Return the bounds of a range, with the names of those that have one."""
        known = self.bounds_of_ranges.get(id(numbers))
        return (numbers.start, numbers.stop) if known is None else known[1:]

    def record_dependency(
        self, value: Any, path: str, name: str, read: Callable[[], Any], node: ast.AST | None = None
    ) -> None:
        """Record an object from outside the kernel, read at `node` or at the current location."""
        self.dependencies.record(value, path, name, read, self.location(node))

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression, and load it if it is an lvalue."""
        value = self.evaluate(node)
        return self.builder.load(value.pointer) if value.__class__ is Lvalue else value

    def loaded(self, value: Any) -> Any:
        """Return `value`, loaded if it is an lvalue."""
        return self.builder.load(value.pointer) if isinstance(value, Lvalue) else value

    def copied(self, value: Any) -> Any:
        """Return `value`, loaded if it is an lvalue, and so the items of a list that holds lvalues."""
        if type(value) in (list, tuple) and any(isinstance(item, (Lvalue, list, tuple)) for item in value):
            return type(value)(map(self.copied, value))
        return self.loaded(value)

    def runtime(self, node: ast.expr) -> Statement:
        """Evaluate an expression to a run-time value."""
        return self.values.lift(self.evaluate(node), node)

    def truth(self, node: ast.expr) -> Any:
        """Evaluate and load an expression of which only the truth value is used: `a and b` needs no common type
        then.
        """
        self.truth_node = node
        return self.value(node)

    @contextmanager
    def where(self, condition: PerIteration, truth: bool) -> Iterator[None]:
        """Within the context, build statements that run only if a number known at compile time is (not) 0."""
        with narrowed(self.static_loops, condition, truth):
            yield

    def need_copies(self) -> None:
        """Unroll the innermost kept static loop, and inline the function under construction, if there are any: what
        follows may do another thing in each iteration and in each call.
        """
        if any(frame.returns is not None and not frame.is_library for frame in self.frames):
            raise NeedsInlining  # functions of ours do the same in each call
        if self.static_loops:
            raise NeedsUnroll(self.static_loops[-1].node)

    def need_copies_at_top(self) -> None:
        """Unroll kept static loops at the top level of a kernel: a loop in them is to be parallel."""
        for static in self.static_loops:
            if static.is_outermost:
                raise NeedsUnroll(static.node)

    def unsupported(self, node: ast.AST) -> NoReturn:
        """Raise for a syntax node that kernels do not support."""
        kind = type(node).__name__
        what, reason, hint = REASONS.get(
            kind, (f"`{kind}`", "kernels support a subset of Python", "write it another way")
        )
        raise self.error(TaichiSyntaxError, f"{what} is not supported in kernels: {reason}", hint, node)

    # --- statements -------------------------------------------------------------------------------------------------

    def variable(self, name: str | None, type: Type) -> Lvalue:
        """Declare a local variable in the current block."""
        alloca = self.builder.add(Alloca(type=type, name=name))
        if not self.nesting.is_parallel:
            self.nesting.outside.add(alloca)
        return Lvalue(alloca)

    def add_if(self, condition: Statement, then: Block, otherwise: Block | None = None) -> If:
        """Append an `If` whose blocks are already built."""
        return self.builder.add(If(condition, then, otherwise))
