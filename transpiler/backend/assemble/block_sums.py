"""Prints copies of arrays in shared memory, to which the threads of a block add (the pass `block_sums`).

    CUDA                                                            GLSL
    __shared__ int h_copy[h_n0];                                    shared int h_copy[h_n0];
    for (unsigned k = threadIdx.x; k < h_n0; k += BLOCK) {          #define h(i) h_copy[i]
        h_copy[k] = 0;
    }                                                               ... the same by other names; a file has one task,
    __syncthreads();                                                so that its macro can be that of the copy
    Args own = args;
    own.h_data = h_copy;
    for (...) task(own, int(index));
    __syncthreads();
    for (unsigned k = threadIdx.x; k < h_n0; k += BLOCK) {
        if (h_copy[k] != 0) {
            atomicAdd(&args.h_data[k], h_copy[k]);
        }
    }

In: a task with `block_sums` and the expressions of its entry. Out: `BlockSums`, data for the templates.
"""

from __future__ import annotations

from ...ir.statements import Array, Const
from ...ir.tasks import Task
from ...ir.types import Tensor, count_scalars, element_of
from ...lazy_dataclasses import dataclass
from ..languages.common.atomics import atomic_syntax
from ..languages.common.tensors import COMPONENTS
from ..print.expressions import Expressions
from ..print.reductions import OWN, extent_of_all

ELEMENT = "k"
"""The variable of the entry that counts the elements of a copy."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of an array.

    Attributes:
        name: of the copy.
        extent: how many elements it has.
        declaration: of the copy.
        zero: of a number.
        parts: the number of element `k`, or each component of a vector, and the statement that adds it to the array.
    """

    name: str
    extent: str
    declaration: str
    zero: str
    parts: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Part:
    """The element `k` of a copy, or a component of it. addition: the statement that adds it to the array."""

    number: str
    zero: str
    addition: str


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over the elements of copies that have the same extent."""

    extent: str
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class BlockSums:
    """The copies of a block. own: lines that give the iterations the addresses of the copies as arguments."""

    copies: list[Copy]
    own: list[str]

    @property
    def declarations(self) -> list[str]:
        """The declarations of all copies."""
        return [copy.declaration for copy in self.copies]

    @property
    def loops(self) -> list[Loop]:
        """The loops that start and add up copies, one for those of one extent."""
        found: dict[str, list[Part]] = {}
        for copy in self.copies:
            found.setdefault(copy.extent, []).extend(Part(number, copy.zero, add) for number, add in copy.parts)
        return [Loop(extent, tuple(parts)) for extent, parts in found.items()]


def print_block_sums(e: Expressions, task: Task) -> BlockSums:
    """Return what an entry does with its copies."""
    copies, own = [], []
    e.uses_args = True
    for array in task.block_sums:
        name, extent, number = e.layout.accessors.copies[array][0], extent_of_all(e, array), element_of(array.element)
        zero = e.of(Const(0.0 if number.is_float else 0, type=number)).source
        declaration = f"{e.language.shared_qualifier}{e.name_of_type(array.element)} {name}[{extent}];"
        syntax = atomic_syntax(e.language, "add", number, True)
        e.use(syntax)
        of_copy, of_array = f"{name}[{ELEMENT}]", f"{_data(e, array)}[{ELEMENT}]"
        is_vector = isinstance(array.element, Tensor)
        ends = [f".{c}" for c in COMPONENTS[: count_scalars(array.element)]] if is_vector else [""]
        parts = tuple((of_copy + end, f"{syntax.format(of_array + end, of_copy + end)};") for end in ends)
        copies.append(Copy(name, extent, declaration, zero, parts))
        own.append(f"{OWN}.{e.layout.data[array].removeprefix('args.')} = {name};")
    return BlockSums(copies, [f"Args {OWN} = args;", *own] if e.language.has_pointers else [])


def _data(e: Expressions, array: Array) -> str:
    """Return the array itself: its address, or the member of its buffer reference."""
    return e.layout.data[array] + ("" if e.language.has_pointers else ".v")
