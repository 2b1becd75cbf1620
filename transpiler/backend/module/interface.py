"""The backend module: the source of each task and the interface that a launcher needs. Plain data that maps to JSON.

Argument block: one struct `Args` for each kernel, members in the order of `Interface.members`, C layout (each member
aligned to its own scalar size, 4 for divisors; equal to GL_EXT_scalar_block_layout). It is passed by value (CUDA), in
push constants or through one pointer (Vulkan), by pointer (C).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import asdict, field, replace
from typing import Any

from ...lazy_dataclasses import dataclass

Expression = tuple[Any, ...]
"""An expression that a host evaluates on arguments: ("const", n), ("member", k), or (op, a, b) with an operation of
`ir.ops.HOST_OPS`. ("member", k) is the value packed for `Interface.members[k]`."""


def members_of(expression: Expression) -> Iterator[int]:
    """Yield the numbers of the members that an expression contains."""
    if expression[0] == "member":
        yield int(expression[1])
    elif expression[0] != "const":
        for operand in expression[1:]:
            yield from members_of(operand)


PACK_CODES = {
    "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "u1": "?", "f16": "e", "f32": "f", "f64": "d", "pointer": "Q", "texture": "Q",
}  # fmt: skip
"""Type of a member of `Args` -> its format in the module `struct`."""

END_OF_BODY = ("", 0)
"""In place of the Python line in `SourceFile.lines`: the source from here on comes from no Python line."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of `Args`.

    source: where the launcher reads it:
      ("argument", position, component)  a by-value parameter; component numbers the scalars of a tensor, else 0
      ("pointer", slot)                  address of an array
      ("gradient", slot)                 address of an array that is the gradient of an argument
      ("shape", slot, axis)              extent of an ndarray (i32)
      ("capacity", slot)                 cells in the pool of a sparse node; the array is its stack of free cells
      ("stride", slot, axis)             distance of its elements along an axis [elements]
      ("begin", slot)                    index of its first element, counted from the one at the lowest address, to
                                         which the pointer points: NVIDIA's Vulkan takes no negative index (580.159)
      ("texture", slot)                  of a texture (CUDA: an object of it, C: the address of its description)
      ("texels", slot)                   CUDA: the object through which single texels of a sampled texture are read
      ("texture_channels", slot)         CUDA: channels of a sampled texture (i32); a missing alpha is 1
      ("texture_shape", slot, axis)      extent of a texture (i32)
      ("divisor", number)                an entry of `Interface.divisors` as `divisors.packed_divisor` packs it (u64)
      ("temporaries",), ("result",)      address of the kernel's own buffers
      ("seed",)                          u32 that differs from launch to launch
      ("report",)                        address of the buffer for print and assert records
    """

    name: str
    type: str
    offset_bytes: int
    size_bytes: int
    source: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class TreeAddress:
    """The location of an array that shares the memory of a tree, or whose elements are not in row-major order.

    slot: of the array whose pointer is that of the tree.
    begin_bytes: offset of the first element.
    digits: index components, slowest first, as (dimension, extent, weight, stride_bytes): the offset of an element is
        the sum of (index[dimension] // weight % extent) * stride_bytes.
    cells: for a node in a pool, the capacity of the pool, and the size of a cell [bytes].
    """

    slot: int
    begin_bytes: int
    digits: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayBinding:
    """One array.

    element: name of a scalar, or a struct with all its members (`ir.types.described`).
    parameter: position in the signature, None for a captured field.
    read, written: whether the kernel reads or writes it.
    offset: the first index along each axis, () for 0.
    place: None for an array in row-major order with a pointer of its own.
    """

    name: str
    element: str
    element_shape: tuple[int, ...]
    ndim: int
    shape: tuple[int, ...] | None
    parameter: int | None
    read: bool
    written: bool
    offset: tuple[int, ...] = ()
    place: TreeAddress | None = None


@dataclass(frozen=True, slots=True)
class TextureBinding:
    """One texture.

    parameter: position in the signature.
    binding: in set 0 of Vulkan, equal to the index in `Interface.textures`.
    element: "f32", "i32" or "u32", the type of a component in the source.
    storage: texels are loaded and stored in `format` (a name of `ti.Format`); else the texture is sampled, and each
        launch gives the format.
    """

    name: str
    parameter: int
    binding: int
    ndim: int
    element: str
    format: str | None
    storage: bool
    lod: int
    read: bool
    written: bool


@dataclass(frozen=True, slots=True)
class ResultField:
    """One value that the kernel returns, in the result buffer.

    type: name of a scalar, or "struct " and the name of a struct. members: fields of the members of a struct, by name.
    """

    type: str
    shape: tuple[int, ...]
    offset_bytes: int
    members: tuple[tuple[str, ResultField], ...] = ()


@dataclass(frozen=True, slots=True)
class LoopIndices:
    """How to compute the indices of a parallel loop from the number of an iteration; one name, start and step per axis.

    line: of the loop in Python.
    begins: starts of the axes, None if only the device knows it, or the launch chooses the step.
    order: index components, slowest first, as (axis, extent, weight), unless iterations are in row-major order.
    """

    line: int
    names: tuple[str, ...]
    begins: tuple[Expression | None, ...]
    steps: tuple[int, ...]
    order: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TaskSource:
    """One launch.

    entry: name of the entry point.
    file: index into `BackendModule.files`.
    block_dim: threads per block; 1 for serial tasks.
    extents: lengths of the axes as expressions of the arguments; None if only the device knows the trip count (the loop
        is then a grid-stride loop). Of a task with choices (`ir.tasks.Choice`) the first one is a "select" for
        each, which gives 0 where another task of the same loop starts.
    reads, writes: slots of arrays; -1 is the temporaries.
    strided: the source has a grid-stride loop, so any number of blocks works; else there is one thread per iteration.
    """

    name: str
    kind: str
    entry: str
    file: int
    block_dim: int
    extents: tuple[Expression, ...] | None
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    strided: bool = False
    serial_turns: Expression | None = None
    """Trip count of the serial loops in one thread, if it depends on arguments and the target limits it."""
    loop: LoopIndices | None = None
    """For messages of failed checks."""
    folded: bool = True
    """Whether a grid of several rows is supported, since an axis has at most 65,535 groups; an edited source may
    support only one row."""
    few_block: int = 0
    """Threads per block of a launch with up to `FEW_ITERATIONS`, if the source reads their number; 0: `block_dim`."""
    items: int = 1
    """Iterations per thread at a time: of loops with reductions, and in edited sources with `#define ITEMS`."""

    @property
    def choices(self) -> int:
        """How many choices a launch makes before it starts the task: on one side of each, the first extent is 0."""
        rest, count = self.extents[0] if self.extents else ("const", 1), 0
        while rest[0] == "select" and ("const", 0) in rest[2:]:
            rest, count = rest[3 if rest[2] == ("const", 0) else 2], count + 1
        return count

    @property
    def block_names(self) -> tuple[str, str]:
        """The constants that may define `block_dim` in a source: of this task alone, and of all others."""
        return f"BLOCK_{self.entry.rpartition('_')[2]}", "BLOCK"

    @property
    def iterations_per_block(self) -> int:
        """Iterations of one block, by which the launcher divides the trip count."""
        return self.block_dim * self.items


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One source that is compiled on its own.

    lines: (line of the source, file, Python line) at the start of each Python line, and (line of the source, "", 0)
        after the end of a function that has such lines.
    """

    name: str
    text: str
    lines: tuple[tuple[int, str, int], ...] = ()

    def python_location(self, line_emitted: int) -> tuple[str, int] | None:
        """Return file and line of the Python that `line_emitted` (from 1) came from, None outside bodies."""
        number = bisect_right(self.lines, line_emitted, key=lambda entry: entry[0])
        location = self.lines[number - 1][1:] if number else END_OF_BODY
        return None if location == END_OF_BODY else location


@dataclass(frozen=True, slots=True)
class Interface:
    """The interface between source and launcher; the part of a module that an edit may not change."""

    members: tuple[Member, ...]
    args_size_bytes: int
    arrays: tuple[ArrayBinding, ...]
    results: tuple[ResultField, ...]
    result_size_bytes: int
    temporaries_size_bytes: int
    reports: tuple[dict[str, Any], ...] = ()
    """Sites of `print` and `assert` by number: kind, file, line, message or parts, value types."""
    textures: tuple[TextureBinding, ...] = ()
    """By binding."""
    divisors: tuple[Expression, ...] = ()
    """Numbers of a launch by which the source divides; none reads a member that is a divisor."""

    def without_divisors(self) -> Interface:
        """Return the interface of a source that does not divide by numbers of the launch; they are the last members."""
        rest = tuple(member for member in self.members if member.source[0] != "divisor")
        end = rest[-1].offset_bytes + rest[-1].size_bytes if rest else 0
        largest = max([4, *(member.size_bytes for member in rest)])
        return replace(self, members=rest, args_size_bytes=-(-end // largest) * largest, divisors=())

    def takes_strides(self, slot: int) -> bool:
        """Return whether the source addresses the elements of an array by strides, which each launch gives."""
        return any(member.source[:2] == ("stride", slot) for member in self.members)

    def takes_begin(self, slot: int) -> bool:
        """Return whether the source counts the elements of an array from the one at the lowest address."""
        return any(member.source == ("begin", slot) for member in self.members)


@dataclass(frozen=True, slots=True)
class BackendModule:
    """A compiled kernel as source.

    target: "vulkan", "cuda", "c" or "python".
    options: options of the compiler of the target (fast_math, ...).
    program: the kernel in final form for the interpreter, never stored.
    """

    kernel: str
    target: str
    files: tuple[SourceFile, ...]
    tasks: tuple[TaskSource, ...]
    interface: Interface
    options: dict[str, Any] = field(default_factory=dict)
    program: Any = None

    @property
    def starts_one_task(self) -> bool:
        """Whether a launch starts no more than one task: all that there are are the leaves of one tree of choices."""
        return sum(0.5**task.choices for task in self.tasks) == 1

    def to_json(self) -> dict[str, Any]:
        """Return the module as JSON-able data, without `program`."""
        data = asdict(self) if self.program is None else asdict(_without_program(self))
        data.pop("program")
        for task in data["tasks"]:
            if not task["few_block"]:  # as in archives of before
                del task["few_block"]
        if not self.interface.divisors:  # likewise
            del data["interface"]["divisors"]
        return data

    def source(self) -> str:
        """Return all files as one source; if there are several, each after a line that names it."""
        if len(self.files) == 1:
            return self.files[0].text
        return "\n".join(f"// ===== {file.name}\n{file.text}" for file in self.files)


def _without_program(module: BackendModule) -> BackendModule:
    return BackendModule(module.kernel, module.target, module.files, module.tasks, module.interface, module.options)
