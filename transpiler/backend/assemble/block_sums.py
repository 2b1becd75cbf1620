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
from ...ir.types import Scalar
from ...lazy_dataclasses import dataclass
from ..languages.common.atomics import atomic_syntax
from ..print.expressions import Expressions
from ..print.reductions import OWN, numbers_of

ELEMENT = "k"
"""The variable of the entry that counts the elements of a copy."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of an array: its name, how many numbers it has, its declaration, a zero, what adds element `k`."""

    name: str
    numbers: str
    declaration: str
    zero: str
    addition: str


@dataclass(frozen=True, slots=True)
class BlockSums:
    """The copies of a block. own: lines that give the iterations the addresses of the copies as arguments."""

    copies: list[Copy]
    own: list[str]

    @property
    def declarations(self) -> list[str]:
        """The declarations of all copies."""
        return [copy.declaration for copy in self.copies]


def print_block_sums(e: Expressions, task: Task) -> BlockSums:
    """Return what an entry does with its copies."""
    copies, own = [], []
    e.uses_args = True
    for array in task.block_sums:
        name, numbers = e.layout.accessors.copies[array][0], numbers_of(e, array)
        assert isinstance(array.element, Scalar)
        zero = e.of(Const(0.0 if array.element.is_float else 0, type=array.element)).source
        declaration = f"{e.language.shared_qualifier}{e.name_of_type(array.element)} {name}[{numbers}];"
        syntax = atomic_syntax(e.language, "add", array.element, True)
        e.use(syntax)
        addition = syntax.format(f"{_data(e, array)}[{ELEMENT}]", f"{name}[{ELEMENT}]")
        copies.append(Copy(name, numbers, declaration, zero, f"{addition};"))
        own.append(f"{OWN}.{e.layout.data[array].removeprefix('args.')} = {name};")
    return BlockSums(copies, [f"Args {OWN} = args;", *own] if e.language.has_pointers else [])


def _data(e: Expressions, array: Array) -> str:
    """Return the array itself: its address, or the member of its buffer reference."""
    return e.layout.data[array] + ("" if e.language.has_pointers else ".v")
