"""Local matrices that are plain arrays in the source: only their elements are read and written.

    mat4 acc = {};                     float acc[4][4] = {};
    acc.m[i][j] += a * b;      ->      acc[i][j] += a * b;

    vec2 terms = {0.0f, f};            float terms[2] = {0.0f, f};
    r += ((float *)&terms)[k];         r += terms[k];

In: the block of a function, and where its values are printed. Out: its variables. A language keeps the types that it
has itself.
"""

from __future__ import annotations

from collections import Counter

from ...ir.functions import Call
from ...ir.nodes import Block, Statement, count_uses, operands, walk
from ...ir.statements import Alloca, Const, LocalStore, MatrixInit, MatrixPtr
from ...ir.types import Tensor
from ..languages.common.language import Language
from ..languages.common.tensors import is_short_vector
from ..print.placement import Placement
from ..print.repetition import is_zero


def local_arrays(block: Block, placement: Placement, language: Language) -> frozenset[Alloca]:
    """Return the variables that are arrays: matrices, long vectors, and short ones with an element at a computed index,
    of which no statement takes the whole.

    They start with zeros or with numbers, by a store too, whose value `placement` then leaves out.
    """
    if not language.has_braces:
        return frozenset()
    statements = list(walk(block))
    computed = {s.origin for s in statements if isinstance(s, MatrixPtr) and not _has_constant_indices(s)}
    found = {s for s in statements if s.__class__ is Alloca and _may_be_array(s, s in computed)}
    if not found:
        return frozenset()  # most
    starts: dict[Alloca, MatrixInit] = {}
    for statement in statements:
        if isinstance(statement, MatrixPtr):
            continue
        if (start := _start(statement, placement)) is not None:
            assert isinstance(statement, LocalStore) and isinstance(statement.pointer, Alloca)
            starts[statement.pointer] = start
            continue
        found.difference_update(value for value in operands(statement) if isinstance(value, Alloca))
        if isinstance(statement, Call):
            found.difference_update(value for value in statement.references() if isinstance(value, Alloca))
    counts = Counter(start for variable, start in starts.items() if variable in found)
    uses = count_uses(block) if counts else {}
    found -= {variable for variable, start in starts.items() if uses.get(start) != counts[start] and not is_zero(start)}
    for start, count in counts.items():
        if uses[start] == count:
            placement.used.discard(start)  # neither it nor its type is named
    return frozenset(found)


def _start(statement: Statement, placement: Placement) -> MatrixInit | None:
    """Return what a variable starts with if its declaration can hold that as the numbers of an array."""
    if not isinstance(statement, LocalStore) or not isinstance(statement.value, MatrixInit):
        return None
    if placement.declared_by_store.get(statement.pointer) is not statement:
        return None
    is_row = isinstance(statement.value.type, Tensor) and len(statement.value.type.shape) == 1
    is_row &= statement.value in placement.inline
    return statement.value if is_zero(statement.value) or is_row else None


def _may_be_array(variable: Alloca, is_computed: bool) -> bool:
    """is_computed: an element of it is at an index that is no number."""
    kind = variable.type
    return isinstance(kind, Tensor) and (is_computed or not is_short_vector(kind)) and not variable.per_thread


def _has_constant_indices(pointer: MatrixPtr) -> bool:
    return all(isinstance(index, Const) for index in pointer.indices)
