"""`A[i, j] += v` on a `ti.types.sparse_matrix_builder()`: a list of triplets that all threads append to."""

from __future__ import annotations

from .annotations import ndarray, template
from .decorators import func
from .functions import atomic_add
from .packs import ArgPackType

MEMBERS = ("rows", "columns", "entries", "number")
"""What a builder is in a kernel: three arrays, and an array with the number of triplets."""


def sparse_matrix_builder() -> ArgPackType:
    """Return the annotation of a kernel's parameter that takes a `ti.linalg.SparseMatrixBuilder`.

    Example:
        >>> builder = ti.linalg.SparseMatrixBuilder(2, 2, max_num_triplets=4)
        >>> @ti.kernel
        ... def fill(A: ti.types.sparse_matrix_builder()):
        ...     for i in range(2):
        ...         A[i, i] += 2.0
        >>> fill(builder)
        >>> builder.build()[1, 1]
        2.0
    """
    return ArgPackType(**{name: ndarray(ndim=1) for name in MEMBERS})


@func
def add_triplet(rows: template(), columns: template(), entries: template(), number: template(), i, j, entry):  # type: ignore[no-untyped-def, valid-type] # fmt: skip
    """Append a triplet. Those beyond the capacity are counted only, so that the builder can tell."""
    position = atomic_add(number[0], 1)
    if position < entries.shape[0]:
        rows[position] = i
        columns[position] = j
        entries[position] = entry
