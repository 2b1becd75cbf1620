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
from ...ir.types import Scalar, Tensor, element_of
from ...lazy_dataclasses import dataclass
from ..languages.common.atomics import atomic_syntax
from ..languages.common.collectives import Number, each_number
from ..languages.common.one_line import INDENT
from ..languages.common.tensors import is_short_vector
from ..print.expressions import Expressions
from ..print.reductions import OWN, extent_of_all

ELEMENT = "k"
"""The variable of the entry that counts the elements of a copy."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A loop over the elements of copies that have the same extent: what starts element `k`, and what adds it up."""

    extent: str
    starts: list[str]
    additions: list[str]


@dataclass(frozen=True, slots=True)
class BlockSums:
    """The copies of a block. own: lines that give the iterations the addresses of the copies as arguments."""

    declarations: list[str]
    loops: list[Loop]
    own: list[str]


def print_block_sums(e: Expressions, task: Task) -> BlockSums:
    """Return what an entry does with its copies."""
    declarations, own, loops = [], [], dict[str, Loop]()
    e.uses_args = True
    for array in task.block_sums:
        name, extent = e.layout.accessors.copies[array][0], extent_of_all(e, array)
        declarations.append(f"{e.language.shared_qualifier}{e.name_of_type(array.element)} {name}[{extent}];")
        own.append(f"{OWN}.{e.layout.data[array].removeprefix('args.')} = {name};")
        loop = loops.setdefault(extent, Loop(extent, [], []))
        starts, additions = _lines(e, array, name)
        loop.starts.extend(starts)
        loop.additions.extend(additions)
    own = [f"Args {OWN} = args;", *own] if e.language.has_pointers else []
    return BlockSums(declarations, list(loops.values()), own)


def _lines(e: Expressions, array: Array, name: str) -> tuple[list[str], list[str]]:
    """Return the lines that start an element of a copy, and those that add it to the array. name: of the copy."""
    kind, number = array.element, element_of(array.element)
    assert isinstance(kind, (Scalar, Tensor))
    zero = e.of(Const(0.0 if number.is_float else 0, type=number)).source
    syntax = atomic_syntax(e.language, "add", number, True)
    e.use(syntax)
    if isinstance(kind, Tensor) and not is_short_vector(kind):
        e.need(*e.language.unroll_helpers)
    of_copy, of_array = f"{name}[{ELEMENT}]", f"{_data(e, array)}[{ELEMENT}]"

    def added(one: Number) -> list[str]:
        own = one(of_copy)
        return [f"if ({own} != {zero}) {{", f"{INDENT}{syntax.format(one(of_array), own)};", "}"]

    starts = each_number(e.language, kind, lambda one: [f"{one(of_copy)} = {zero};"])
    return starts, each_number(e.language, kind, added)


def _data(e: Expressions, array: Array) -> str:
    """Return the array itself: its address, or the member of its buffer reference."""
    return e.layout.data[array] + ("" if e.language.has_pointers else ".v")
