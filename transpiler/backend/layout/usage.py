"""What the tasks of a kernel do with arrays and arguments: what `Args` has to bring, and what is read or written.

In: a kernel in final form. Out: a `Use`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ...ir.functions import Call, Function, called, reachable
from ...ir.nodes import Statement, walk
from ...ir.statements import (
    CHECKS,
    ArgLoad,
    Array,
    ArrayShape,
    Assert,
    AtomicOp,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    IndexCheck,
    MatrixPtr,
    Parameter,
    Print,
    Rand,
    Record,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.textures import ImageLoad, ImageStore, Texture, TextureFetch, TextureSample
from ...ir.threads import Barrier
from ...ir.types import Type


@dataclass(slots=True)
class Usage:
    """What the tasks do with arrays and arguments."""

    arrays: dict[Array, None] = field(default_factory=dict)
    shared: dict[Array, None] = field(default_factory=dict)
    fences: bool = False
    components: bool = False
    read: set[Array] = field(default_factory=set)
    written: set[Array] = field(default_factory=set)
    shapes: dict[tuple[Array | Texture, int], str | None] = field(default_factory=dict)
    parameters: dict[Parameter, None] = field(default_factory=dict)
    textures: dict[Texture, None] = field(default_factory=dict)
    texels: set[tuple[type[Statement], Texture]] = field(default_factory=set)
    """What is done with textures: a class of `TEXTURE_STATEMENTS`, and with which."""
    random: bool = False
    has_records: bool = True
    sites: dict[Record | Call, int] = field(default_factory=dict)
    task_of: dict[Statement, int] = field(default_factory=dict)
    task_sites: int = 0
    """How many of the sites are in tasks; those of functions come behind them."""
    types: dict[Type, None] = field(default_factory=dict)


def _statements(kernel: Kernel) -> Iterator[tuple[int, Statement]]:
    """Give every statement with the number of its task; those of functions last, with the first that calls them."""
    tasks: dict[Function, int] = {}
    for number, task in enumerate(kernel.tasks):
        for function in called(task.prologue, task.body):
            tasks.setdefault(function, number)
        for root in (task.prologue, task.body):
            for statement in walk(root):
                yield number, statement
    for function, number in tasks.items():
        for statement in walk(function.body):
            yield number, statement


def collect(kernel: Kernel) -> Usage:
    """Return what the tasks of a kernel use."""
    use = Usage()
    names: dict[tuple[Array | Texture, int], set[str | None]] = {}
    own = set(kernel.parameters)
    failing = {f for f in kernel.functions if any(isinstance(s, CHECKS) for s in reachable(f.body))}
    inside = {statement for function in kernel.functions for statement in walk(function.body)}
    for task, statement in _statements(kernel):
        if statement.type is not None:
            use.types[statement.type] = None
        match statement:
            case GlobalPtr(array=array):
                (use.shared if array.is_shared else use.arrays)[array] = None
            case Barrier(scope="grid"):
                use.fences = True
            case GlobalLoad(pointer=pointer):
                _mark(use.read, pointer)
            case GlobalStore(pointer=pointer):
                _mark(use.written, pointer)
            case AtomicOp(pointer=pointer):
                _mark(use.read, pointer)
                _mark(use.written, pointer)
            case MatrixPtr():
                use.components |= isinstance(base_pointer(statement), GlobalPtr)
            case ArrayShape(array=array, axis=axis, name=name):
                names.setdefault((array, axis), set()).add(name)
            case ArgLoad(parameter=parameter) if parameter in own:
                use.parameters[parameter] = None
            case TextureSample() | TextureFetch() | ImageLoad() | ImageStore():
                use.textures[statement.texture] = None
                use.texels.add((type(statement), statement.texture))
            case Rand():
                use.random = True
            case Call(function=function) if function in failing:
                use.sites[statement] = len(use.sites)
                use.task_of[statement] = task
            case Print() | Assert() | IndexCheck():
                use.sites[statement] = len(use.sites)
                use.task_of[statement] = task
    use.task_sites = sum(site not in inside for site in use.sites)
    for key, found in names.items():
        found.discard(None)
        use.shapes[key] = next(iter(found)) if len(found) == 1 else None
    for array in use.arrays:
        if array.shape is None and (array.clamped or not array.strided):
            for axis in range(0 if array.clamped else 1, array.ndim):
                use.shapes.setdefault((array, axis), None)
    return use


def use_all(kernel: Kernel, use: Usage) -> None:
    """Add all arrays with all extents, all parameters and a seed: what the interpreter takes is the whole kernel."""
    use.arrays.update(dict.fromkeys(kernel.arrays))
    use.parameters.update(dict.fromkeys(kernel.parameters))
    use.random = True
    use.has_records = False  # the interpreter prints and raises by itself
    use.textures.update(dict.fromkeys(kernel.textures))
    for array in kernel.arrays:
        if array.shape is None:
            for axis in range(array.ndim):
                use.shapes.setdefault((array, axis), None)


def _mark(marks: set[Array], pointer: Statement) -> None:
    base = base_pointer(pointer)
    if isinstance(base, GlobalPtr):
        marks.add(base.array)
