"""Inserts index checks before accesses to arrays, if the user enabled them.

Accesses to vectors, matrices, and cells and lists of sparse nodes are checked too.

    $3 = ptr a ($i)           $3 = ptr a ($i)
    $4 = global load $3  ->   check a ($i) within (shape a 0)
                              $4 = global load $3

A check is inserted at the access, not at the pointer: a pointer costs nothing and may be computed without being used.
Indices that are in bounds by construction are not checked: constants within a constant shape, indices of a loop over
the array, and indices checked before in the same or an enclosing block.
"""

from __future__ import annotations

from ...ir.tasks import Kernel
from ..analysis.accesses import Access, is_safe, is_wide
from ..context import PassContext
from .parts.index_checks import insert_checks


def bounds(kernel: Kernel, context: PassContext) -> bool:
    """Insert an IndexCheck before each access, under `debug` or `check_out_of_bound`.

    Wide indices are skipped: `check_wide_indices` has checked them before a cleanup could truncate them.
    """

    def needs_check(access: Access) -> bool:
        return not all(is_safe(access, axis) for axis in range(len(access.indices))) and not is_wide(access)

    return context.options.check_out_of_bound and insert_checks(kernel, needs_check)
