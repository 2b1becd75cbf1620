"""The waist: text per task and what a launcher must know about it. Plain data, JSON in and out.

Argument block: one struct `Args` a kernel, members in the order of `Interface.members`, C layout (each member aligned
to its own scalar size; equal to GL_EXT_scalar_block_layout). It is passed by value (CUDA), in push constants or through
one pointer (Vulkan), by pointer (C).
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import asdict, dataclass, field
from typing import Any

Expression = tuple[Any, ...]
"""What a host can compute from arguments: ("const", n), ("member", k), or (op, a, b) with a row of the op table that
hosts compute (`ir.ops.HOST_OPS`).
("member", k) is the value packed for `Interface.members[k]`."""

PACK_CODES = {
    "i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q",
    "u1": "?", "f16": "e", "f32": "f", "f64": "d", "pointer": "Q", "texture": "Q",
}  # fmt: skip
"""By type of a member of `Args`, its format as the module `struct` has it."""

END_OF_BODY = ("", 0)
"""Stands for the Python line in `SourceFile.lines` where a text goes on that no Python line asked for."""


@dataclass(frozen=True, slots=True)
class Member:
    """One member of `Args`.

    source: where the launcher takes it from:
      ("argument", position, component)  a by-value parameter; component numbers the scalars of a tensor, else 0
      ("pointer", slot)                  address of an array
      ("gradient", slot)                 the same of one that is the gradient of an argument
      ("shape", slot, axis)              extent of an ndarray (i32)
      ("capacity", slot)                 cells of the pool of a sparse node whose stack of cells the array is
      ("stride", slot, axis)             distance of its elements along an axis [elements]
      ("begin", slot)                    its first element, counted from the one at the lowest address, whose address is
                                         the pointer then: NVIDIA's Vulkan takes no negative index (580.159)
      ("texture", slot)                  of a texture (CUDA: an object of it, C: the address of its description)
      ("texels", slot)                   CUDA: the object by which single texels of a sampled texture are read
      ("texture_channels", slot)         CUDA: channels of a sampled texture (i32), whose missing alpha is 1
      ("texture_shape", slot, axis)      extent of a texture (i32)
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
    """Where an array lies that shares the memory of a tree with others, or whose elements do not lie row by row.

    slot: of the array whose pointer is the tree's. digits: the parts an index is taken apart into, slowest first, as
    (dimension, extent, weight, stride_bytes): index[dimension] // weight % extent moves by stride_bytes. cells: of a
    place in a pool, how many cells that has at most, and their size [bytes].
    """

    slot: int
    begin_bytes: int
    digits: tuple[tuple[int, ...], ...]
    cells: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ArrayBinding:
    """One array. parameter: place in the signature, None for a captured field. written, read: what the kernel does.

    element: name of a scalar, or a struct with all its members (`ir.types.described`). offset: the first index along
    each axis, () for 0. place: None where it lies row by row behind a pointer of its own.
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
    """One texture. parameter: place in the signature. binding: in set 0 of Vulkan, its place in `Interface.textures`.

    storage: texels are loaded and stored, in `format` (a name of `ti.Format`); else it is sampled, and the format comes
    with each launch. element: "f32", "i32" or "u32", what a component of a texel is in the text.
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
    """One value the kernel returns, in the result buffer.

    type: name of a scalar, or "struct " and that of a struct, whose members then have fields of their own, by name.
    """

    type: str
    shape: tuple[int, ...]
    offset_bytes: int
    members: tuple[tuple[str, ResultField], ...] = ()


@dataclass(frozen=True, slots=True)
class LoopIndices:
    """How the indices of a parallel loop follow from the number of a turn; one name, begin and step an axis.

    line: of the loop in Python. begins: None where only the device knows. order: where turns are not taken row by row,
    parts of the indices, the slowest first, as (axis, extent, weight).
    """

    line: int
    names: tuple[str, ...]
    begins: tuple[Expression | None, ...]
    steps: tuple[int, ...]
    order: tuple[tuple[int, int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class TaskSource:
    """One launch. entry: name of the function to start. file: index into `BackendModule.files`.

    count: how many iterations, as an expression of the arguments; None where only the device knows (the loop strides
    then). extents: the axes' lengths, whose product `count` is. block_dim: threads a block; 1 for serial tasks.
    strided: the text loops over more iterations than there are threads, so any number of blocks will do; else one
    thread an iteration. reads, writes: slots of arrays; -1 stands for the temporaries.
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
    """Turns of the serial loops in one thread, where they depend on arguments and the target limits them."""
    loop: LoopIndices | None = None
    """For reports of checks that failed."""
    folded: bool = True
    """Whether groups may stand in several rows, where an axis of the grid takes 65,535; a text changed by hand may know
    one row alone."""
    items: int = 1
    """Turns a thread takes: more than one only in a text changed by hand, which says so by `#define ITEMS`."""

    @property
    def turns_per_block(self) -> int:
        """Turns that one block takes, by which the launcher divides."""
        return self.block_dim * self.items


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One text that is compiled on its own.

    lines: (line of the text, file, Python line) where a Python line begins, and (line of the text, "", 0) below the end
    of a function that has such lines.
    """

    name: str
    text: str
    lines: tuple[tuple[int, str, int], ...] = ()

    def python_place(self, line_emitted: int) -> tuple[str, int] | None:
        """Return file and line of the Python that `line_emitted` (from 1) came from, None outside bodies."""
        number = bisect_right(self.lines, line_emitted, key=lambda entry: entry[0])
        place = self.lines[number - 1][1:] if number else END_OF_BODY
        return None if place == END_OF_BODY else place


@dataclass(frozen=True, slots=True)
class Interface:
    """What the text and the launcher agree on; the part of a module that a hand edit may not change."""

    members: tuple[Member, ...]
    args_size_bytes: int
    arrays: tuple[ArrayBinding, ...]
    results: tuple[ResultField, ...]
    result_size_bytes: int
    temporaries_size_bytes: int
    reports: tuple[dict[str, Any], ...] = ()
    """Print and assert sites by number: kind, file, line, message or parts, value types."""
    textures: tuple[TextureBinding, ...] = ()
    """By binding."""

    def takes_strides(self, slot: int) -> bool:
        """Tell whether the text finds the elements of an array by strides, which come with each launch."""
        return any(member.source[:2] == ("stride", slot) for member in self.members)

    def takes_begin(self, slot: int) -> bool:
        """Tell whether the text counts the elements of an array from the one at the lowest address."""
        return any(member.source == ("begin", slot) for member in self.members)


@dataclass(frozen=True, slots=True)
class BackendModule:
    """A compiled kernel as text.

    target: "vulkan", "cuda", "c" or "python". options: those the tool needs (fast_math, ...). ir: the final form as
    text. program: the kernel itself for the interpreter, never stored.
    """

    kernel: str
    target: str
    files: tuple[SourceFile, ...]
    tasks: tuple[TaskSource, ...]
    interface: Interface
    options: dict[str, Any] = field(default_factory=dict)
    program: Any = None

    def to_json(self) -> dict[str, Any]:
        """Return the module as JSON-able data, without `program`."""
        data = asdict(self) if self.program is None else asdict(_without_program(self))
        data.pop("program")
        return data

    def source(self) -> str:
        """Return all files as one text, each with a line that names it where there are several."""
        if len(self.files) == 1:
            return self.files[0].text
        return "\n".join(f"// ===== {file.name}\n{file.text}" for file in self.files)


def _without_program(module: BackendModule) -> BackendModule:
    return BackendModule(module.kernel, module.target, module.files, module.tasks, module.interface, module.options)
