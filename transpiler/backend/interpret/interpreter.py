"""Runs the final form with NumPy scalars, one thread after the other: the oracle of the tests, and `arch=ti.python`.

It shares no code with the printers: the semantics of operations come from the op table alone. An out-of-bounds access
raises, so a kernel that is wrong on a device is detected here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import prod
from typing import Any, SupportsIndex

import numpy as np

from ...errors import TaichiRuntimeError
from ...ir.elements.numbers import position_of_number
from ...ir.functions import Call, CallResult, Reference
from ...ir.nodes import Block, Statement
from ...ir.ops import ATOMIC_OPS, OPS
from ...ir.snodes import IndexComponent, index_at, index_components_of, pool_above, position_of
from ...ir.statements import (
    Alloca,
    ArgLoad,
    Array,
    ArrayShape,
    Assert,
    AtomicOp,
    Break,
    Cast,
    Continue,
    GlobalLoad,
    GlobalPtr,
    GlobalTemporary,
    If,
    IfExp,
    IndexCheck,
    ListInit,
    ListItem,
    LocalLoad,
    MatrixElement,
    MatrixInit,
    MatrixPtr,
    Notice,
    Operation,
    Parameter,
    Print,
    Rand,
    RangeFor,
    Record,
    Return,
    StructElement,
    StructInit,
    StructPtr,
    Temporary,
    While,
)
from ...ir.tasks import Kernel, Reduction, Task
from ...ir.textures import ImageLoad, ImageStore, Texture, TextureFetch, TextureSample, TextureStatement
from ...ir.threads import SUBGROUP_SIZE, Barrier, ThreadIndex, neutral
from ...ir.types import Scalar, Struct, Tensor, Type, element_of
from ...nesting import deep_recursion
from ...options import MAX_ITERATIONS
from ..module.random_stream import RandomStream, task_seed
from ..module.record_sites import describe_site
from ..module.records import Iteration, failure, notice, text_writer
from .lockstep import Blocks, IterationAborted, iteration_of
from .prepared import Evaluate, prepare, to_type
from .sparse import Cells, PresentCell, cell_table
from .texels import TexelArray

Address = tuple[np.ndarray[Any, Any], tuple[SupportsIndex, ...]]
"""An array and the index of a scalar or tensor in it."""


def run(
    kernel: Kernel,
    arrays: Sequence[np.ndarray[Any, Any]],
    parameters: Sequence[Any],
    seed: int = 0,
    textures: Sequence[TexelArray] = (),
) -> list[Any]:
    """Run all tasks of a kernel in final form and return its results.

    A check that fails ends one iteration of a parallel loop, or a serial task. The other iterations still run, but no
    later task does, as on every target.

    Args:
        arrays: by binding, shaped (*shape, *element shape), modified in place.
        parameters: in the order of `kernel.parameters`, numbers or arrays of the tensor's shape.
        seed: of this launch, for random numbers.
        textures: by binding.

    Raises: TaichiRuntimeError for an out-of-bounds access; TaichiAssertionError, at the end, for the first check that
        failed.
    """
    machine = _Machine(kernel, arrays, parameters, textures)
    with np.errstate(all="ignore"), _deep_calls(kernel):
        for number, task in enumerate(kernel.tasks):
            machine.run_task(task, task_seed(seed, task.stream))
            for noticed, count in machine.notices.items():
                sys.stderr.write(notice(describe_site(noticed, number), count))
            machine.notices.clear()
            if machine.failures:
                check, values, iteration, calls = machine.failures[0]
                call_sites = [describe_site(call, number) for call in calls]
                site = describe_site(check, number)
                raise failure(kernel.name, site, values, iteration, len(machine.failures), call_sites)
    return machine.results


class _OutOfBounds:
    """An out-of-bounds pointer: as on every target, only a load or store through it is an error."""

    def __init__(self, message: str) -> None:
        self.message = message

    def __iter__(self) -> Iterator[Any]:
        raise TaichiRuntimeError(self.message)


@contextmanager
def _deep_calls(kernel: Kernel) -> Iterator[None]:
    """Raise the recursion limit for functions of the kernel. Raises: TaichiRuntimeError beyond it."""
    try:
        with deep_recursion():
            yield
    except RecursionError:
        message = f"functions of kernel `{kernel.name}` call one another deeper than the interpreter can follow"
        raise kernel.location.error(TaichiRuntimeError, message, "does the recursion end?") from None


class _Machine:
    """State of one launch.

    shared: the arrays of the current block.
    position: of the thread in its block, and in the loop.
    components: index components of arrays in trees.
    prepared: the statements of each block that ran, with the functions that evaluate them.
    values: of statements already run by the current thread.
    """

    def __init__(
        self, kernel: Kernel, arrays: Sequence[Any], parameters: Sequence[Any], textures: Sequence[TexelArray]
    ) -> None:
        self.arrays = arrays
        self.textures = textures
        self.shared: dict[Array, np.ndarray[Any, Any]] = {}
        self.position: tuple[int, int] = (0, 0)
        self.components: dict[Array, tuple[IndexComponent, ...]] = {}
        self.parameters: dict[Parameter, Any] = {
            parameter: to_type(value, parameter.type)
            for parameter, value in zip(kernel.parameters, parameters, strict=True)
        }
        self.temporaries: dict[Temporary, np.ndarray[Any, Any]] = {t: _zeros(t.type) for t in kernel.temporaries}
        self.prepared: dict[Block, list[tuple[Statement, Evaluate | None]]] = {}
        self.values: dict[Statement, Any] = {}
        self.indices: dict[Any, tuple[int, ...]] = {}
        self.results: list[Any] = []
        self.failures: list[tuple[Record, list[Any], Iteration | None, list[Call]]] = []
        self.iteration: tuple[RangeFor, int, tuple[int, ...]] | None = None
        self.notices: dict[Notice, int] = {}
        self.writers: dict[Print, Callable[[Sequence[Any]], str]] = {}
        self.random = RandomStream(0, 0)
        self.table: dict[type, Callable[[Any], Any]] = {
            Operation: self._operation,
            Cast: self._cast,
            MatrixInit: self._matrix_init,
            MatrixElement: lambda s: self.values[s.value][tuple(int(self.values[i]) for i in s.indices)],
            **self._local_arrays(),
            StructInit: self._struct_init,
            StructElement: lambda s: _copied(self.values[s.value][s.member]),
            IfExp: self._if_exp,
            Rand: lambda s: s.type.numpy.type(self.random.draw(s.type)),
            ArgLoad: lambda s: self.parameters[s.parameter],
            ArrayShape: self._shape,
            TextureSample: lambda s: self._texture(s).sample(self._coordinates(s.coordinate), s.texture.element),
            TextureFetch: lambda s: self._texture(s).fetch(self._coordinates(s.coordinate), s.texture.element),
            ImageLoad: lambda s: self._texture(s).fetch(self._coordinates(s.coordinate), s.texture.element),
            ImageStore: self._image_store,
            Alloca: lambda s: (_zeros(s.type), ()),
            GlobalPtr: self._global_ptr,
            GlobalTemporary: lambda s: (self.temporaries[s.temporary], ()),
            MatrixPtr: self._matrix_ptr,
            StructPtr: self._struct_ptr,
            LocalLoad: lambda s: _load(self.values[s.pointer]),
            GlobalLoad: lambda s: _load(self.values[s.pointer]),
            AtomicOp: self._atomic,
            Reference: lambda s: self.parameters[s.parameter],
            Call: self._call,
            CallResult: lambda s: self.values[s.call][s.position],
            **self._records(),
            ThreadIndex: self._thread_index,
            **cell_table(self),
            Barrier: lambda s: None,  # one that waits is never evaluated here: `lockstep` runs it
        }
        self.blocks = Blocks(self)
        self.cells = Cells(kernel, arrays)

    def _local_arrays(self) -> dict[type, Callable[[Any], Any]]:
        return {
            ListInit: lambda s: [self.values[item] for item in s.items],
            ListItem: lambda s: self.values[s.origin][int(self.values[s.index])],
        }

    def run_task(self, task: Task, seed: int) -> None:
        """Run a task: its body once, or for every index tuple in order. seed: of its random numbers."""
        self.random = RandomStream(seed, 0)
        self.iteration = None
        self.run_block(task.prologue)
        if task.loop is None:
            self._run_iteration(task.body)
            return
        for reduction in task.reductions:
            self.parameters[reduction.accumulator] = self.parameters[reduction.innermost] = (_neutral(reduction), ())
        self._run_loop(task, task.loop, seed)
        self.run_block(task.epilogue)

    def _run_loop(self, task: Task, loop: RangeFor, seed: int) -> None:
        iterations = prod(len(axis) for axis in self._ranges(loop))
        if iterations > MAX_ITERATIONS:
            raise OverflowError(
                f"the loop of task `{task.name}` has {iterations} iterations, more than {MAX_ITERATIONS}"
            )
        if task.synchronizes:
            self.blocks.run(task, seed, list(self.iterations(loop)))
            return
        for linear, index in enumerate(self.iterations(loop)):
            self.position = (linear, linear)
            self.indices[loop] = index
            self.random = RandomStream(seed, linear)
            self.iteration = loop, linear, index
            self._run_iteration(task.body)

    def _run_iteration(self, body: Block) -> None:
        try:
            self.run_block(body)
        except IterationAborted:
            return

    def run_block(self, block: Block) -> type | None:
        """Run statements in order; return the class of the statement that ended the block early, if one did."""
        values = self.values
        prepared = self.prepared.get(block)
        if prepared is None:
            prepared = self.prepared[block] = [(s, prepare(self, s)) for s in block.statements]
        for statement, evaluate in prepared:
            if evaluate is not None:
                values[statement] = evaluate()
                continue
            ended = self._control(statement)
            if ended is not None:
                return ended
        return None

    def _control(self, statement: Statement) -> type | None:
        match statement:
            case If():
                branch = statement.then if self.values[statement.condition] else statement.otherwise
                return self.run_block(branch) if branch is not None else None
            case While():
                while self.result(statement.condition):
                    ended = self.run_block(statement.body)
                    if ended is Break:
                        break
                    if ended is Return:
                        return ended
                return None
            case RangeFor():
                for index in self.index_tuples(statement):
                    self.indices[statement] = index
                    ended = self.run_block(statement.body)
                    if ended is Break:
                        break
                    if ended is Return:
                        return ended
                return None
            case Return():
                self.results = [self.values[value] for value in statement.values]
                return Return
            case Break() | Continue():
                return type(statement)
        raise TypeError(f"statement of class {type(statement).__name__} in final form")

    def iterations(self, loop: RangeFor) -> Iterator[tuple[int, ...]]:
        """Yield the indices of a parallel loop in the order of its iterations."""
        if not loop.order:
            yield from self.index_tuples(loop)
            return
        starts = [axis.start for axis in self._ranges(loop)]
        for iteration in range(prod(component.extent for component in loop.order)):
            offsets = index_at(loop.order, iteration, len(starts))
            yield tuple(start + offset for start, offset in zip(starts, offsets, strict=True))

    def index_tuples(self, loop: RangeFor) -> Iterator[tuple[int, ...]]:
        return _tuples(self._ranges(loop))

    def _ranges(self, loop: RangeFor) -> list[range]:
        bounds = zip(loop.starts, loop.ends, loop.steps, strict=True)
        return [range(*(int(self.values[bound]) for bound in axis)) for axis in bounds]

    def result(self, block: Block) -> Any:
        self.run_block(block)
        assert block.result is not None
        return self.values[block.result]

    def _if_exp(self, statement: IfExp) -> Any:
        return self.result(statement.then if self.values[statement.condition] else statement.otherwise)

    def _operation(self, statement: Operation) -> Any:
        operation = OPS[statement.op]
        operands = [self.values[operand] for operand in statement.operands]
        assert statement.type is not None
        if operation.shape_rule is None and isinstance(statement.type, Tensor):
            elements = np.broadcast_arrays(*operands)
            flat = [operation.meaning(*(part.dtype.type(value) for part, value in zip(elements, values, strict=True)))
                    for values in zip(*(part.flat for part in elements), strict=True)]  # fmt: skip
            return np.array(flat, element_of(statement.type).numpy).reshape(statement.type.shape)
        return to_type(operation.meaning(*operands), statement.type)

    def _cast(self, statement: Cast) -> Any:
        assert statement.type is not None
        value = self.values[statement.value]
        if statement.bits:
            return value.view(element_of(statement.type).numpy)
        if isinstance(statement.type, Scalar):
            return _cast_scalar(value, statement.type)
        assert isinstance(statement.type, Tensor)
        return np.array([_cast_scalar(v, statement.type.element) for v in value.flat],
                        statement.type.element.numpy).reshape(statement.type.shape)  # fmt: skip

    def _matrix_init(self, statement: MatrixInit) -> Any:
        assert isinstance(statement.type, Tensor)
        values = [self.values[element] for element in statement.elements]
        return np.array(values, statement.type.element.numpy).reshape(statement.type.shape)

    def _struct_init(self, statement: StructInit) -> Any:
        assert isinstance(statement.type, Struct)
        value = _zeros(statement.type)
        for name, member in zip(statement.type.names, statement.values, strict=True):
            value[name] = self.values[member]
        return value[()]

    def _struct_ptr(self, statement: StructPtr) -> Address | _OutOfBounds:
        origin = self.values[statement.origin]
        if isinstance(origin, _OutOfBounds):
            return origin
        array, index = origin
        return array[statement.member], index

    def _global_ptr(self, statement: GlobalPtr) -> Address | _OutOfBounds:
        accessed = statement.array
        array = self.shared[accessed] if accessed.is_shared else self.arrays[accessed.binding]
        if statement.is_flat:
            return self._by_number(statement, array)
        index = tuple(int(self.values[i]) for i in statement.indices)
        shape = array.shape[: len(index)] if accessed.shape is None else accessed.shape
        if accessed.clamped:
            index = tuple(min(max(i, 0), n - 1) for i, n in zip(index, shape, strict=True))
        starts = accessed.offset or (0,) * len(index)
        if any(not start <= i < start + n for i, start, n in zip(index, starts, shape, strict=True)):
            where = statement.location.describe()
            since = f" from {starts}" if accessed.offset else ""
            return _OutOfBounds(f"{where}\nAccess outside `{accessed.name}`: index {index}, shape {shape}{since}")
        if accessed.offset:
            index = tuple(i - start for i, start in zip(index, starts, strict=True))
        if accessed.place is None:
            return array, index
        if accessed not in self.components:
            self.components[accessed] = index_components_of(accessed.place)
        position = position_of(self.components[accessed], index)
        pool = pool_above(accessed.place)
        if pool is None:
            return array, position
        if statement.cell is None:
            return array, (PresentCell(self.cells, accessed.place, index), *position)
        return array, (int(self.values[statement.cell]), *position)

    def _by_number(self, pointer: GlobalPtr, array: Any) -> Address | _OutOfBounds:
        """Return the element with a number, in the order of memory."""
        accessed, number = pointer.array, int(self.values[pointer.indices[0]])
        assert not pointer.by_word, "only blocks of threads on GPUs have such pointers"
        ndim = accessed.ndim if accessed.place is None else len(index_components_of(accessed.place))
        position = position_of_number(number, array.shape[:ndim])
        if position is not None:
            return array, position
        where = pointer.location.describe()
        return _OutOfBounds(f"{where}\nAccess outside `{accessed.name}`: element {number}, shape {array.shape[:ndim]}")

    def _shape(self, statement: ArrayShape) -> Any:
        array = statement.array
        if isinstance(array, Texture):
            return np.int32(self.textures[array.binding].extents[statement.axis])
        return np.int32((array.shape or self.arrays[array.binding].shape)[statement.axis])

    def _texture(self, statement: TextureStatement) -> TexelArray:
        return self.textures[statement.texture.binding]

    def _coordinates(self, position: Statement) -> list[Any]:
        return np.atleast_1d(self.values[position]).tolist()  # type: ignore[no-any-return]

    def _image_store(self, statement: ImageStore) -> None:
        format = statement.texture.format
        assert format is not None
        self._texture(statement).store(self._coordinates(statement.coordinate), self.values[statement.value], format)

    def _thread_index(self, statement: ThreadIndex) -> Any:
        thread, linear = self.position
        kinds = {"thread": thread, "lane": thread % SUBGROUP_SIZE, "global": linear, "size": SUBGROUP_SIZE}
        return np.int32(kinds[statement.kind])

    def _matrix_ptr(self, statement: MatrixPtr) -> Address | _OutOfBounds:
        origin = self.values[statement.origin]
        if isinstance(origin, _OutOfBounds):
            return origin
        array, index = origin
        return array, (*index, *(int(self.values[i]) for i in statement.indices))

    def _atomic(self, statement: AtomicOp) -> Any:
        address = self.values[statement.pointer]
        old = _load(address)
        if statement.mask is not None:
            value, mask = self.values[statement.value], self.values[statement.mask]
            new = (old + value) & mask if statement.op == "add_bits" else value
            _store(address, (old & ~mask) | new)
            return old
        meaning = OPS[ATOMIC_OPS[statement.op]].meaning
        _store(address, meaning(old, self.values[statement.value]))
        return old

    def _call(self, statement: Call) -> Any:
        """Run a function with values of its own; return its result, or a list of several."""
        function = statement.function
        arguments = [self.values[argument] for argument in statement.arguments]
        outer = self.values, self.parameters, self.indices
        self.values, self.indices = {}, {}
        self.parameters = dict(zip(function.parameters, arguments, strict=True))
        try:
            self.run_block(function.body)
        except IterationAborted:
            self.failures[-1][3].append(statement)
            raise
        finally:  # a failed check unwinds all calls
            self.values, self.parameters, self.indices = outer
        return self.results[0] if len(function.results) == 1 else self.results

    def _records(self) -> dict[type, Callable[[Any], Any]]:
        return {
            Print: self._print, Notice: self._notice, Assert: self._assert, IndexCheck: self._index_check,
        }  # fmt: skip

    def _print(self, statement: Print) -> None:
        write = self.writers.get(statement)
        if write is None:
            write = self.writers[statement] = text_writer(describe_site(statement, 0))
        print(write(self._numbers(statement)), end="")

    def _notice(self, statement: Notice) -> None:
        if self.values[statement.condition]:
            self.notices[statement] = self.notices.get(statement, 0) + 1

    def _assert(self, statement: Assert) -> None:
        if not self.values[statement.condition]:
            self._fail(statement)

    def _index_check(self, check: IndexCheck) -> None:
        axes = zip(check.indices, check.extents, check.lower_bounds or (0,) * len(check.indices), strict=True)
        for index, extent, start in axes:
            if not start <= int(self.values[index]) < start + int(self.values[extent]):
                self._fail(check)

    def _fail(self, statement: Record) -> None:
        iteration = None if self.iteration is None else iteration_of(*self.iteration)
        self.failures.append((statement, self._numbers(statement), iteration, []))
        raise IterationAborted

    def _numbers(self, statement: Record) -> list[Any]:
        return [number for value in statement.values for number in np.ravel(self.values[value]).tolist()]


def _neutral(reduction: Reduction) -> np.ndarray[Any, Any]:
    """Return the memory of an accumulator before the loop."""
    type = reduction.accumulator.type
    memory = _zeros(type)
    memory[...] = neutral(reduction.op, reduction.element)
    return memory


def _zeros(type: Type | None) -> np.ndarray[Any, Any]:
    assert type is not None
    if isinstance(type, Struct):
        return np.zeros((), type.numpy)
    return np.zeros(type.shape if isinstance(type, Tensor) else (), element_of(type).numpy)


def _cast_scalar(value: Any, type: Scalar) -> Any:
    if type.kind == "bool":
        return np.bool_(value != 0)
    if type.is_float or isinstance(value, (np.integer, np.bool_)):
        return to_type(value, type) if type.is_float else type.numpy.type(type(int(value)))
    if not np.isfinite(value):
        return type.numpy.type(0)
    return type.numpy.type(type(int(value)))


def _load(address: Address | _OutOfBounds) -> Any:
    array, index = address
    return _copied(array[index])


def _copied(value: Any) -> Any:
    """Return a copy of a tensor or struct, which shares no memory with its origin; scalars are copies already."""
    return value.copy() if isinstance(value, (np.ndarray, np.void)) else value


def _store(address: Address | _OutOfBounds, value: Any) -> None:
    array, index = address
    array[index] = value


def _tuples(axes: Sequence[range]) -> Iterator[tuple[int, ...]]:
    """Yield the tuples of `itertools.product`, which would store each range as a list: one may have 2^31 numbers."""
    *outer, last = axes
    return ((*index, number) for index in _tuples(outer) for number in last) if outer else zip(last)
