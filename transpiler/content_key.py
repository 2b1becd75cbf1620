"""What the frontend reads: a digest of all that determines the emitted source, and the values that vary.

In: a specialization. Out: `content_key`, for kernels that read objects without a description, whose content the cache
knows only from the frontend (`runtime/cache/kernel_key.py`); `specific_values`, by which edits of two kernels of one
function are distinguished (`runtime/workbench/edits/identity.py`).
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from .frontend.builders.build import build
from .frontend.source.specialization import Specialization, TemplateArgument
from .ir.remarks import remark_lines
from .ir.snodes import Node, index_components_of, is_sparse_tree, start_offset
from .ir.statements import Array
from .ir.text import print_frontend


def content_key(specialization: Specialization) -> str:
    """Return a digest of the specialization and of what its kernel read while it was built.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    kernel = build(specialization).kernel
    arrays = [f"{array.name} at {_location_of(array)}" for array in kernel.arrays]
    trees = [str(_members_of(top)) for top in kernel.trees if is_sparse_tree(top)]
    snippets = [str(function.snippets) for function in kernel.functions]
    material = [specialization.key, print_frontend(kernel), *remark_lines(kernel), *arrays, *trees, *snippets]
    return sha256("\x00".join(material).encode()).hexdigest()[:16]


def specific_values(specialization: Specialization) -> dict[str, list[Any]]:
    """Return the values that are constants in the source and that another call may have otherwise.

    They are the members of template arguments, the variables of enclosing functions, and the captured fields, by the
    expressions that read them; a template argument itself is part of the specialization.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    result = build(specialization)
    found = {path: list(values) for path, values in result.specific.items()}
    given = [argument.value for argument in specialization.arguments if isinstance(argument, TemplateArgument)]
    known = [value for values in found.values() for value in values] + given
    for array, value in zip(result.kernel.arrays, result.fields):
        if value is not None and not any(value is other for other in known):
            found.setdefault(array.name, []).append(value)
    return found


def _location_of(array: Array) -> str:
    """Return where an array is in memory, as a string."""
    if array.place is None:
        return str(array.offset)
    components = [tuple(component) for component in index_components_of(array.place)]
    return f"{array.offset}, {start_offset(array.place)}, {components}"


def _members_of(node: Node) -> list[Any]:
    """Return all that determines the memory of a tree."""
    return [node.kind, node.axes, node.extents, node.chunk, str(node.element), *map(_members_of, node.children)]
