"""What the tasks of a kernel use: arrays and arguments, which `Args` must have, and whether arrays are read or written.

In: a kernel in final form. Out: a `Usage`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field
from itertools import chain

from ...ir.constants import Key, extent_key, launch_key
from ...ir.functions import Call, Function, called, reachable
from ...ir.nodes import Statement, count_uses_in, walk
from ...ir.statements import (
    CHECKS,
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Assert,
    AtomicOp,
    Cast,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    If,
    IndexCheck,
    IsAligned,
    LocalLoad,
    LocalStore,
    LoopIndex,
    MatrixInit,
    MatrixPtr,
    Notice,
    Operation,
    Parameter,
    Print,
    Rand,
    RangeFor,
    Record,
    base_pointer,
)
from ...ir.tasks import TYPE_OF, Apart, AtLeast, Kernel, Reaches
from ...ir.textures import ImageLoad, ImageStore, Texture, TextureFetch, TextureSample
from ...ir.threads import Barrier
from ...ir.types import Scalar, Tensor, Type
from ...lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Divisor:
    """A number of the launch, which packs how to divide by it (`launch_divisors`).

    value: that number; None if it is the trip count of a loop along an axis.
    """

    value: Statement | None
    loop: RangeFor | None = None
    axis: int = 0


@dataclass(slots=True)
class Usage:
    """What the tasks of a kernel usage."""

    arrays: dict[Array, None] = field(default_factory=dict)
    shared: dict[Array, None] = field(default_factory=dict)
    wide: dict[Array, Tensor] = field(default_factory=dict)
    """Arrays of which several neighbours are accessed together, and the type of these."""
    flat: dict[Array, None] = field(default_factory=dict)
    """Arrays of which elements are accessed by number."""
    words: dict[Array, Scalar] = field(default_factory=dict)
    """Arrays whose elements are stored in parts, and the type of these."""
    in_parts: set[Array] = field(default_factory=set)
    """Arrays of which components are loaded, or several neighbours together."""
    fences: bool = False
    aligned: bool = False
    """Whether it asks for the alignment of an array."""
    components: bool = False
    read: set[Array] = field(default_factory=set)
    written: set[Array] = field(default_factory=set)
    read_back: set[Array] = field(default_factory=set)
    """Arrays from which the source may read what it has just stored, instead of giving the value a name; only if there
    is an array that is written and not read."""
    shapes: dict[tuple[Array | Texture, int], str | None] = field(default_factory=dict)
    parameters: dict[Parameter, None] = field(default_factory=dict)
    textures: dict[Texture, None] = field(default_factory=dict)
    texels: set[tuple[type[Statement], Texture]] = field(default_factory=set)
    """Accesses of textures: a class of `TEXTURE_STATEMENTS`, and the texture."""
    random: bool = False
    has_records: bool = True
    sites: dict[Record | Call, int] = field(default_factory=dict)
    task_of: dict[Statement, int] = field(default_factory=dict)
    task_sites: int = 0
    """How many of the sites are in tasks; those of functions follow."""
    types: dict[Type, None] = field(default_factory=dict)
    divisors: dict[Key, Divisor] = field(default_factory=dict)


WITHOUT_USE = frozenset({Alloca, Cast, Const, If, LocalLoad, LocalStore, LoopIndex, MatrixInit, Operation, RangeFor})
"""Statements that need only their type."""


def _statements(kernel: Kernel) -> Iterator[tuple[int, list[Statement]]]:
    """Yield all statements, by blocks outside all others, with the number of their task; functions come last, with the
    first task that calls them.
    """
    tasks: dict[Function, int] = {}
    for number, task in enumerate(kernel.tasks):
        for function in called(*task.roots()) if kernel.functions else ():
            tasks.setdefault(function, number)
        for root in task.roots():
            yield number, list(walk(root))
    for function, number in tasks.items():
        yield number, list(walk(function.body))


def collect(kernel: Kernel) -> Usage:
    """Return what the tasks of a kernel usage."""
    usage = Usage()
    names: dict[tuple[Array | Texture, int], set[str | None]] = {}
    kernel_parameters = set(kernel.parameters)
    failing = {f for f in kernel.functions if any(isinstance(s, CHECKS) for s in reachable(f.body))}
    inside = {statement for function in kernel.functions for statement in walk(function.body)}
    stores: list[GlobalStore] = []
    found = list(_statements(kernel))
    types = dict.fromkeys(map(TYPE_OF, chain.from_iterable(statements for _, statements in found)))
    usage.types = dict.fromkeys([type for type in types if type is not None])
    for task, statement in [(task, s) for task, inner in found for s in inner if s.__class__ not in WITHOUT_USE]:
        match statement:
            case GlobalPtr(array=array):
                (usage.shared if array.is_shared else usage.arrays)[array] = None
                if statement.by_word:
                    assert isinstance(statement.type, Scalar)
                    usage.words[array] = statement.type
                elif statement.is_flat:
                    usage.flat[array] = None
                if statement.lanes > 1 and isinstance(statement.type, Tensor):
                    usage.wide[array] = statement.type
            case IsAligned(array=array):
                usage.arrays[array] = None
                usage.aligned = True
            case Barrier(scope="grid"):
                usage.fences = True
            case GlobalLoad(pointer=pointer):
                _mark(usage.read, pointer)
                if not isinstance(pointer, GlobalPtr) or pointer.lanes > 1 or pointer.by_word:
                    _mark(usage.in_parts, pointer)
            case GlobalStore(pointer=pointer):
                _mark(usage.written, pointer)
                stores.append(statement)
            case AtomicOp(pointer=pointer):
                _mark(usage.read, pointer)
                _mark(usage.written, pointer)
            case MatrixPtr():
                usage.components |= isinstance(base_pointer(statement), GlobalPtr)
            case ArrayShape(array=array, axis=axis, name=name):
                names.setdefault((array, axis), set()).add(name)
            case ArgLoad(parameter=parameter) if parameter in kernel_parameters:
                usage.parameters[parameter] = None
            case TextureSample() | TextureFetch() | ImageLoad() | ImageStore():
                usage.textures[statement.texture] = None
                usage.texels.add((type(statement), statement.texture))
            case Rand():
                usage.random = True
            case Call(function=function) if function in failing:
                usage.sites[statement] = len(usage.sites)
                usage.task_of[statement] = task
            case Print() | Notice() | Assert() | IndexCheck():
                usage.sites[statement] = len(usage.sites)
                usage.task_of[statement] = task
    if not usage.written <= usage.read:
        _find_read_back(usage, stores, kernel)
    usage.task_sites = sum(site not in inside for site in usage.sites)
    _name_shapes(usage, names, kernel)
    _find_divisors(usage, kernel, chain.from_iterable(statements for _, statements in found))
    return usage


def _find_divisors(usage: Usage, kernel: Kernel, statements: Iterable[Statement]) -> None:
    """Record by which numbers of the launch the tasks divide."""
    for loop in [task.loop for task in kernel.tasks if task.loop is not None and task.loop.packs_divisors]:
        for axis in range(1, len(loop.starts)):
            if (key := extent_key(loop, axis)) is not None:
                end = loop.ends[axis] if launch_key(loop.ends[axis]) == key else None
                usage.divisors.setdefault(key, Divisor(end, loop, axis))
    for division in [s for s in statements if s.__class__ is Operation and s.by_launch]:
        key = launch_key(division.operands[1])
        assert key is not None
        usage.divisors.setdefault(key, Divisor(division.operands[1]))


def _name_shapes(usage: Usage, names: dict[tuple[Array | Texture, int], set[str | None]], kernel: Kernel) -> None:
    """Record the extents that are needed, with their names in Python. names: of those in statements."""
    for key, candidates in names.items():
        candidates.discard(None)
        usage.shapes[key] = next(iter(candidates)) if len(candidates) == 1 else None
    sums = [sums for task in kernel.tasks for sums in task.private if sums.is_choice]
    compared = {array for each in sums for array in (each.array, *each.others)}
    conditions = [c for task in kernel.tasks for choice in task.choices for c in choice.conditions]
    compared |= {array for c in conditions if isinstance(c, Apart) for array in (c.first, c.second)}
    compared |= {c.array for c in conditions if isinstance(c, Reaches)}
    for length in (length for c in conditions if isinstance(c, AtLeast) for length in c.lengths):
        if isinstance(length.of, Array):
            usage.shapes.setdefault((length.of, length.axis), None)
    for array in [array for array in usage.arrays if array in compared]:  # a launch decides by where they end
        for axis in range(array.ndim):
            usage.shapes.setdefault((array, axis), None)
    for array in usage.arrays:
        if array.shape is None and (array.clamped or not array.strided):
            for axis in range(0 if array.clamped else 1, array.ndim):
                usage.shapes.setdefault((array, axis), None)


def _find_read_back(usage: Usage, stores: Sequence[GlobalStore], kernel: Kernel) -> None:
    """Find the arrays whose stored values have other uses."""
    uses = count_uses_in(kernel.roots())
    for store in stores:
        if uses[store.value] > 1:
            _mark(usage.read_back, store.pointer)


def use_all(kernel: Kernel, usage: Usage) -> None:
    """Add all arrays with all extents, all parameters and a seed: the interpreter takes the whole kernel."""
    usage.arrays.update(dict.fromkeys(kernel.arrays))
    usage.parameters.update(dict.fromkeys(kernel.parameters))
    usage.random = True
    usage.has_records = False  # the interpreter prints and raises without records
    usage.textures.update(dict.fromkeys(kernel.textures))
    for array in kernel.arrays:
        if array.shape is None:
            for axis in range(array.ndim):
                usage.shapes.setdefault((array, axis), None)


def _mark(marks: set[Array], pointer: Statement) -> None:
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        marks.add(base.array)
