"""The state of one build and what every handler needs: evaluate a node, make a run-time value, raise at a place.

Handlers for syntax nodes register in `EXPRESSIONS` and `STATEMENTS`; `build.py` imports the modules that do.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Hashable
from functools import partial
from typing import Any, NoReturn, TypeVar

from ...errors import (
    SourceLocation,
    TaichiCompilationError,
    TaichiIndexError,
    TaichiNameError,
    TaichiRuntimeError,
    TaichiSyntaxError,
    TaichiTypeError,
)
from ...ir.builder import Builder
from ...ir.captured import Captured
from ...ir.functions import Function
from ...ir.nodes import Block, Statement
from ...ir.snodes import Node, Tree, top_of
from ...ir.statements import (
    Alloca,
    Array,
    Const,
    GlobalPtr,
    If,
    LocalStore,
    MatrixInit,
    RangeFor,
    StructFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import SCALARS, Scalar, Struct, Tensor, Type, describe_type, element_of, scalars_of, u1
from ...lang import struct as lang
from ...lang.annotations import as_type
from ...lang.describe import ArrayDescription, Step, identify_step, is_described, name_step, steps_of
from ...lang.matrix import Matrix
from ..source.definition import KernelDefinition
from ..source.dependencies import Reads
from ..source.specialization import Specialization
from ..source.unsupported import REASONS
from .scope import MISSING, Exit, Frame
from .spelling_hints import missing_name_hint
from .struct_types import StructTypes
from .trees import name_parts, see_tree
from .values import ArrayMember, Formatted, Place, common_type, describe_kind, is_number, matrix_rows, number_type

Handler = Callable[["Context", Any], Any]
H = TypeVar("H", bound=Handler)

EXPRESSIONS: dict[type[ast.AST], Handler] = {}
STATEMENTS: dict[type[ast.AST], Handler] = {}

ERROR_OF: dict[type[Exception], type[TaichiCompilationError]] = {
    TypeError: TaichiTypeError,
    IndexError: TaichiIndexError,
    NameError: TaichiNameError,
}
"""Which of our errors stands for one that compile-time code raises; all others are `TaichiCompilationError`."""

COMPUTED_BY_PYTHON = "no run-time value takes part, so Python computes this while it compiles; write it as for Python"


def fits(value: int, type: Scalar) -> bool:
    """Tell whether an integer fits `type` by width; the sign may wrap, as in C."""
    return -(1 << type.bits - 1) <= value < 1 << type.bits


class NeedsMemory(Exception):
    """A variable thought to be a value turns out to be changed; `node` declares it. The build starts again.

    mutable: the set of its function, which `node` has to join.
    """

    def __init__(self, node: ast.AST, frame: Frame) -> None:
        super().__init__()
        self.node = node
        self.mutable = frame.definition.parsed.mutable


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


class LoopRecord:
    """A loop around the current statement. loop: the IR loop, None for an unrolled one, which has exits instead."""

    __slots__ = ("break_exit", "continue_exit", "is_broken", "is_parallel", "loop")

    def __init__(self, loop: RangeFor | StructFor | While | None, is_parallel: bool = False) -> None:
        self.loop = loop
        self.is_parallel = is_parallel
        self.is_broken = False
        self.break_exit: Exit | None = None
        self.continue_exit: Exit | None = None


class Context:
    """One build. frame: the function under construction; frames: those around it; loops: of all frames, by frame."""

    def __init__(self, specialization: Specialization) -> None:
        self.specialization = specialization
        self.options = specialization.options
        self.default_fp = SCALARS[self.options.default_fp]
        self.default_ip = SCALARS[self.options.default_ip]
        self.frame = Frame(specialization.definition)
        self.frames: list[Frame] = [self.frame]
        name = specialization.definition.name
        self.kernel = Kernel(name, [], [], [], self.frame.entry, location=specialization.definition.location())
        self.builder = Builder(self.kernel.body, self.default_fp)
        self.builder.location = self.kernel.location
        self.truth_node: ast.expr | None = None
        self.home: Block = self.kernel.body
        self.fields: list[Any] = []
        self.arrays: dict[int, Array] = {}
        self.trees: dict[Node, Any] = {}
        """What owns the memory of sparse trees, by their tops."""
        self.gradients: dict[Array, Array] = {}
        self.objects: dict[Array, Any] = {}
        """What the kernel's arrays describe, parameters excepted."""
        self.captured: dict[str, Captured] = {}
        self.reads = Reads(specialization.capabilities)
        self.warnings: list[str] = []
        self.warned: set[tuple[str, int, int, str]] = set()
        self.loops: list[LoopRecord] = []
        self.depth = 0
        self.is_parallel = False
        self.in_static = False  # whether the argument of a `ti.static` is being evaluated
        self.is_conditional = False
        """Whether an `if` without `ti.static` stands around: its loops are serial, also where its side is known."""
        self.outside: set[Statement] = set()
        self.hints: dict[int, str] = {}
        self.loop_options: dict[str, Any] = {}
        self.array_names: set[str] = set()
        self.structs = StructTypes(self.frames)
        self.functions: dict[KernelDefinition, dict[Hashable, Function]] = {}
        """Real functions by what they are specialised on."""
        self.pending: deque[Any] = deque()
        """Real functions whose bodies are not built yet."""
        self.kept: list[Any] = []  # what `functions` names by identity: it must live as long

    def enter(self, frame: Frame) -> None:
        """Go on with the body of a real function, which lies outside all loops."""
        self.frame, self.frames[:] = frame, [frame]
        self.builder.block = self.home = frame.entry
        self.loops, self.depth, self.loop_options = [], 0, {}
        self.is_parallel = self.is_conditional = False

    # --- places in the source -------------------------------------------------------------------------------------

    def location(self, node: ast.AST | None = None) -> SourceLocation:
        """Return where `node`, or what is being built, stands."""
        return self.builder.location if node is None else self.frame.location(node)

    def error(
        self,
        kind: type[TaichiCompilationError],
        message: str,
        hint: str | None = None,
        node: ast.AST | None = None,
    ) -> TaichiCompilationError:
        """Return (not raise) an error at `node`, or at what is being built."""
        return self.location(node).error(kind, message, hint)

    def warn(self, message: str, hint: str, node: ast.AST | None = None) -> None:
        """Remember a warning at `node`, or at what is being built; it is given once the kernel is compiled.

        A line is built many times, in unrolled loops and inlined functions; it warns once.
        """
        where = self.location(node)
        if (where.file, where.line, where.column, message) not in self.warned:
            self.warned.add((where.file, where.line, where.column, message))
            self.warnings.append(where.explained(message, hint))

    def python(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call user code at compile time; an exception of it becomes an error at the current place."""
        try:
            return function(*args, **kwargs)
        except TaichiCompilationError as error:
            if getattr(error, "location", None) is not None:
                raise
            raise self.error(type(error), str(error), getattr(error, "hint", None) or COMPUTED_BY_PYTHON) from None
        except TaichiRuntimeError as error:
            message, _, hint = str(error).partition(" Hint: ")
            raise self.error(TaichiCompilationError, message, hint or COMPUTED_BY_PYTHON) from None
        except Exception as error:
            kind = next(
                (ours for theirs, ours in ERROR_OF.items() if isinstance(error, theirs)), TaichiCompilationError
            )
            raise self.error(kind, f"{type(error).__name__}: {error}", COMPUTED_BY_PYTHON) from None

    # --- evaluation -----------------------------------------------------------------------------------------------

    def evaluate(self, node: ast.expr) -> Any:
        """Return what an expression gives: a Python object, a statement or a `Place`."""
        if type(node) is ast.Constant:
            return node.value
        if type(node) is ast.Name:
            return self.name(node)
        handler = EXPRESSIONS.get(type(node))
        if handler is None:
            self.unsupported(node)
        builder = self.builder
        outer, builder.location = builder.location, self.frame.location(node)
        result = handler(self, node)
        builder.location = outer
        return result

    def name(self, node: ast.Name) -> Any:
        """Return what a name means here. Raises: TaichiNameError."""
        local = self.frame.find(node.id)
        if local is not None:
            return local.value
        value = self.frame.outer(node.id)
        if value is MISSING:
            hint = missing_name_hint(self.frame, node)
            raise self.error(TaichiNameError, f'Name "{node.id}" is not defined', hint, node)
        self.note(value, node.id, node.id, partial(self.frame.definition.outer, node.id), node)
        return value

    def note(self, value: Any, path: str, name: str, read: Callable[[], Any], node: ast.AST | None = None) -> None:
        """Remember a number that was read from outside, with how to read it anew, and what the program calls an array.

        path: the expression as written. name: its last part.
        """
        self.reads.add(value)
        if is_number(value) or isinstance(value, Matrix | lang.Struct):
            self.captured[path] = Captured(value, read, self.location(node))
        elif is_described(value) or hasattr(type(value), "describe_domain"):
            self.hints.setdefault(id(value), name)

    def value(self, node: ast.expr) -> Any:
        """Evaluate an expression and load it if it is a place."""
        return self.loaded(self.evaluate(node))

    def loaded(self, value: Any) -> Any:
        """Return `value`, loaded if it is a place."""
        return self.builder.load(value.pointer) if isinstance(value, Place) else value

    def runtime(self, node: ast.expr) -> Statement:
        """Evaluate an expression to a run-time value."""
        return self.lift(self.evaluate(node), node)

    def truth(self, node: ast.expr) -> Any:
        """Evaluate and load an expression of which only the truth matters: `a and b` needs no value then."""
        self.truth_node = node
        return self.value(node)

    def unsupported(self, node: ast.AST) -> NoReturn:
        """Raise for a syntax node that kernels cannot hold."""
        kind = type(node).__name__
        what, reason, hint = REASONS.get(kind, (f"`{kind}`", "kernels hold a part of Python", "write it another way"))
        raise self.error(TaichiSyntaxError, f"{what} is not supported in kernels: {reason}", hint, node)

    # --- run-time values ------------------------------------------------------------------------------------------

    def lift(self, value: Any, node: ast.AST | None = None) -> Statement:
        """Return `value` as a run-time value: numbers as constants, lists and matrices as tensors.

        Raises: TaichiTypeError for what is no value in a kernel.
        """
        if isinstance(value, Statement):
            return value
        if isinstance(value, Place):
            return self.builder.load(value.pointer)
        if is_number(value):
            return self.constant(value)
        if isinstance(value, Matrix):
            return self.tensor(matrix_rows(value))
        if isinstance(value, list | tuple) and value:
            return self.tensor(value)
        if isinstance(value, lang.Struct):
            return self.struct(value)
        kind = describe_kind(value)
        hint = None
        if isinstance(value, Array | ArrayMember) or is_described(value):
            hint = "give it indices: `a[i]`, or `a[None]` for a field without axes"
        elif isinstance(value, complex):
            hint = "use a vector of 2 elements and `ti.math.cmul`"
        elif isinstance(value, Formatted):
            kind, hint = "an f-string with run-time values", "use it in `print` or `assert` only"
        elif callable(value):
            hint = "call it"
        hint = hint or "use a number, a vector or a matrix"
        raise self.error(
            TaichiTypeError, f"{kind[0].upper()}{kind[1:]} cannot be used as a value in a kernel", hint, node
        )

    def struct(self, value: lang.Struct) -> Statement:
        """Return a struct of Python scope as a run-time value."""
        declared = lang.type_of_struct(value)
        if declared is not None:
            return self.fit(value, self.structs.struct(declared.describe_type(self.options)))
        values = {name: self.lift(part) for name, part in value.items}
        members = tuple((name, part.type) for name, part in values.items() if part.type is not None)
        return self.builder.struct(list(values.values()), self.structs.struct(Struct("", members)))

    def type(self, annotation: Any) -> Type | None:
        """Return the type that an annotation or a callable names, its structs under their names; else None."""
        found = as_type(annotation, self.options)
        return None if found is None else self.structs.named(found)

    def constant(self, value: Any) -> Const:
        """Return a Python number as a constant of its default type. Raises: TaichiTypeError if it does not fit."""
        type = number_type(value, self.options)
        if type.is_integral and type != u1:
            self.check_range(int(value))
        return self.builder.const(value.item() if hasattr(value, "item") else value, type)

    def check_range(self, value: int, node: ast.AST | None = None) -> None:
        """Raise TaichiTypeError if an integer literal does not fit the default integer type."""
        type = self.default_ip
        low, high = (-(1 << type.bits - 1), (1 << type.bits - 1) - 1) if type.is_signed else (0, (1 << type.bits) - 1)
        if not low <= value <= high:
            raise self.error(
                TaichiTypeError,
                f"Integer literal {value} exceeded the range of default_ip: {type}, please specify the dtype via e.g. "
                f"`ti.u64({value})` or set a different `default_ip` in `ti.init()`",
                f"write `ti.i64({value})`",
                node,
            )

    def tensor(self, value: Any, element: Scalar | None = None) -> Statement:
        """Return nested lists of values (or of vectors, as rows) as a tensor; without `element` types promote."""
        rows = [self._row(item) for item in value]
        if not rows:
            raise self.error(TaichiTypeError, "A vector needs at least one element", "write `ti.Vector([0.0])`")
        lengths = {len(row) if isinstance(row, list) else 0 for row in rows}
        if len(lengths) > 1:
            raise self.error(TaichiTypeError, "The rows of a matrix need equal lengths", "fill up the shorter rows")
        is_matrix = isinstance(rows[0], list)
        flat = [item for row in rows for item in row] if is_matrix else rows
        for item in flat:
            if isinstance(item.type, Tensor):
                raise self.error(
                    TaichiTypeError, "A matrix has at most two axes; its elements are scalars", "use an array"
                )
        type = element or common_type([element_of(item.type) for item in flat])
        return self.builder.tensor(flat, (len(rows), len(rows[0])) if is_matrix else (len(rows),), type)

    def _row(self, item: Any) -> Any:
        if isinstance(item, Matrix):
            item = matrix_rows(item)
        if isinstance(item, list | tuple):
            return [self.lift(inner) for inner in item]
        found = self.lift(item)
        return self.elements(found) if isinstance(found.type, Tensor) and len(found.type.shape) == 1 else found

    def elements(self, value: Statement) -> list[Statement]:
        """Return the elements of a tensor value, row by row."""
        assert isinstance(value.type, Tensor)
        if isinstance(value, MatrixInit):
            return list(value.elements)
        shape = value.type.shape
        if len(shape) == 1:
            return [self.builder.element(value, [self.builder.const(i)]) for i in range(shape[0])]
        return [
            self.builder.element(value, [self.builder.const(i), self.builder.const(j)])
            for i in range(shape[0])
            for j in range(shape[1])
        ]

    def condition(self, value: Any, what: str, node: ast.AST | None = None) -> Statement:
        """Return a scalar of type u1: whether `value` is not 0. what: the statement that asks, for the error."""
        found = self.lift(value, node)
        if not isinstance(found.type, Scalar):
            hint = "use `.any()` or `.all()` of the comparison" if isinstance(found.type, Tensor) else "test a member"
            text = f"`{what}` conditions must be a scalar; found `{describe_type(found.type)}`"
            raise self.error(TaichiTypeError, text, hint, node)
        if found.type == u1:
            return found
        assert isinstance(found.type, Scalar)
        return self.builder.op("ne", found, self.builder.const(0, found.type))

    def fit(self, value: Any, type: Type) -> Statement:
        """Return `value` as a run-time value of `type`."""
        if isinstance(type, Struct) and isinstance(value, dict | lang.Struct):
            return self._fit_struct(value, type)
        if isinstance(type, Scalar) and is_number(value):
            if type.is_integral and type != u1 and isinstance(value, int) and not fits(value, type):
                self.warn(f"{value} does not fit `{type}` and wraps to {type(value)}", f"write `{type(value)}`")
                value = int(type(value))
            return (
                self.builder.cast(self.constant(value), type)
                if isinstance(value, float)
                else self.builder.const(value, type)
            )
        if isinstance(type, Tensor) and isinstance(value, list | tuple | Matrix):
            value = self.tensor(matrix_rows(value) if isinstance(value, Matrix) else value, type.element)
        return self.builder.fit(self.lift(value), type)

    def _fit_struct(self, value: Any, type: Struct) -> Statement:
        """Return a dict, or a struct of Python scope, as the struct `type`."""
        given = dict(value.items if isinstance(value, lang.Struct) else value.items())
        if sorted(given) != sorted(type.names):
            text = f"Member mismatch between structs {list(type.names)}, {list(given)}"
            raise self.error(TaichiTypeError, text, "give a value for each member")
        return self.builder.struct([self.fit(given[name], member) for name, member in type.members], type)

    # --- arrays ---------------------------------------------------------------------------------------------------

    def array(self, value: Any) -> Array | None:
        """Return the array that `value` is (a parameter, or an object that describes itself), or None."""
        if isinstance(value, Array | ArrayMember):
            return value if isinstance(value, Array) else value.array
        if isinstance(value, Statement | Place | list | tuple | int | float | type):
            return None
        found = self.arrays.get(id(value))
        if found is not None:
            return found
        description = self.describe(value)
        if description is None:
            return None
        if description.path:
            return self.array(description.owner)
        names = {} if description.place is None else self.enter_tree(description.place, description.tree).names
        seen = names.get(description.place)  # type: ignore[arg-type]
        return self.array_of(value, self.hints.get(id(value)) or description.name or seen or "array", description)

    def describe(self, value: Any) -> ArrayDescription | None:
        """Return what an object of the runtime says of itself, None if it is no array."""
        try:
            return value.describe_array() if is_described(value) else None
        except TaichiRuntimeError:
            return self.python(value.describe_array)  # type: ignore[no-any-return]  # raises it again, with the place

    def array_of(self, value: Any, name: str, description: ArrayDescription, path: str = "") -> Array:
        """Add the array that an object describes, or one for each part where these lie apart. path: of `Array`."""
        element = self.structs.named(description.element)
        if description.parts:
            array = Array(self.unique(name), element, len(description.shape), -1, path=path)
            steps = zip(description.parts, steps_of(element), strict=True)
            array.parts = tuple(self._part(array, part, step) for part, step in steps)
        else:
            array = self.new_array(name, element, len(description.shape))
            self.fields[array.slot], array.path = value, path
        array.shape = tuple(description.shape)
        array.may_alias = description.kind == "ndarray"
        array.offset, array.strided = description.offset, description.strided
        if description.place is not None:
            array.place = description.place
            self.enter_tree(array.place, description.tree).names[array.place] = array.name
        elif array.parts:
            array.place = array.parts[0].place  # loops run over the cells of the first part, as in Taichi
            name_parts(array, self.kernel.trees)
        self.arrays[id(value)], self.objects[array] = array, value
        return array

    def _part(self, whole: Array, value: Any, step: Step) -> Array:
        """Return the array of a part that lies apart, named after the whole unless Python has a name for it."""
        known = self.hints.get(id(value))
        found = self.arrays.get(id(value))
        if found is not None:
            found.path = found.path or found.name
            return found
        name = known or identify_step(whole.name, whole.element, step)
        path = whole.path or whole.name  # also of a component: errors show what Python says, `v` of `v[i]`
        path = known or (name_step(path, whole.element, step) if isinstance(step, str) else path)
        description = self.describe(value)
        assert description is not None
        return self.array_of(value, name, description, path)

    def enter_tree(self, node: Node, owner: Any) -> Tree:
        """Return how this kernel sees the tree that a node is in. owner: of its memory, if it is sparse."""
        top = top_of(node)
        if top not in self.kernel.trees:
            self.kernel.trees[top] = see_tree(top, self.frames, self.hints, self.structs.named)
        if owner is not None:
            self.trees[top] = owner
        return self.kernel.trees[top]

    def cells_of(self, node: Any) -> Array:
        """Return what stands for the cells of a node of a tree where a loop runs over them."""
        cells = self.python(node.describe_domain)
        if cells.place is not None:
            self.enter_tree(cells.place, cells.tree)
        name = self.hints.get(id(node)) or cells.name or "cells"
        return Array(name, u1, len(cells.shape), -1, cells.shape, place=cells.place, offset=cells.offset)

    def gradient(self, array: Array) -> Array:
        """Return the gradient of an argument, which a launch finds as `argument.grad`."""
        found = self.gradients.get(array)
        if found is None:
            if not all(scalar.is_float for scalar in scalars_of(array.element)):
                text = f"`{array.name}` has no gradient: its elements are {describe_type(array.element)}"
                raise self.error(TaichiTypeError, text, "pass an array of floating-point numbers")
            found = self.gradients[array] = self.new_array(f"{array.name}_grad", array.element, array.ndim)
            found.parameter, found.may_alias, found.is_gradient = array.parameter, True, True
            found.strided, found.clamped = array.strided, array.clamped
        return found

    def new_array(self, name: str, element: Type, ndim: int) -> Array:
        """Add an array to the kernel, under a name of its own."""
        array = Array(self.unique(name), element, ndim, len(self.kernel.arrays))
        self.kernel.arrays.append(array)
        self.fields.append(None)
        return array

    def unique(self, name: str) -> str:
        """Return `name`, or one made of it, that no other array of the kernel has."""
        unique, count = name, 1
        while unique in self.array_names:
            count += 1
            unique = f"{name}_{count}"
        self.array_names.add(unique)
        return unique

    # --- variables ------------------------------------------------------------------------------------------------

    def variable(self, name: str | None, type: Type) -> Place:
        """Make a local variable in the current block."""
        made = self.builder.add(Alloca(type=type, name=name))
        if not self.is_parallel:
            self.outside.add(made)
        return Place(made)

    def is_shared(self, place: Place) -> bool:
        """Tell whether other iterations may change a place: an array's, or a variable from outside a parallel loop."""
        base = base_pointer(place.pointer)
        return isinstance(base, GlobalPtr) or (self.is_parallel and base in self.outside)

    # --- ways out -------------------------------------------------------------------------------------------------

    def new_exit(self, name: str) -> Exit:
        """Return an exit for the code that follows in the current block."""
        block = self.builder.block
        return Exit(name, block, len(block), self.depth)

    def take(self, leave: Exit) -> None:
        """Note, at run time, that `leave` is taken; out of a run-time loop this breaks it."""
        if leave.flag is None:
            leave.flag = Alloca(type=u1, name=leave.name, location=self.builder.location)
            leave.block.statements.insert(leave.position, leave.flag)
        before = len(self.builder.block)
        self.builder.store(leave.flag, self.builder.const(True, u1))
        leave.stores += [(self.builder.block, made) for made in self.builder.block.statements[before:]]

    def asked(self, leave: Exit) -> Statement:
        """Return whether `leave` was taken."""
        assert leave.flag is not None
        leave.asked = len(leave.stores)
        return self.builder.load(leave.flag)

    def result_variable(self, name: str, type: Type) -> Alloca:
        """Declare, where the current function begins, a variable for what it returns."""
        leave = self.frame.leave
        assert leave is not None
        made = Alloca(type=type, name=None if self.frame.hides_names else name, location=self.builder.location)
        leave.block.statements.insert(leave.position, made)
        return made

    def store_untyped(self, place: Alloca, value: Statement) -> tuple[Block, LocalStore]:
        """Store without a cast, which the caller adds when the variable's type is known."""
        return self.builder.block, self.builder.add(LocalStore(place, value))

    def close(self, leave: Exit) -> None:
        """Drop what sets the flag of an exit after it was last asked for, and the flag if it never was."""
        for block, made in leave.stores[leave.asked :]:
            block.statements.remove(made)
        if leave.flag is not None and not leave.asked:
            leave.block.statements.remove(leave.flag)

    def any_taken(self, exits: list[Exit]) -> Statement:
        """Return whether one of `exits` was taken."""
        found = self.asked(exits[0])
        for leave in exits[1:]:
            found = self.builder.op("logical_or", found, self.asked(leave))
        return found

    def add_if(self, condition: Statement, then: Block, otherwise: Block | None = None) -> If:
        """Append an `If` whose blocks are already built."""
        return self.builder.add(If(condition, then, otherwise))
