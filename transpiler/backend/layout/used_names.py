"""Names that are taken in a source before any of the user's names: by the language and by generated code.

In: a kernel, and a target with the names that its source references (`assemble/names.py` collects them from the printed
source). Out: names.
"""

from __future__ import annotations

from ...ir.snodes import axes_of, pool_above
from ...ir.tasks import Kernel
from ..languages.common.helpers import constants
from ..languages.common.naming import entry_stem
from ..languages.common.reserved import GENERATED_NAMES, functions, macros
from ..languages.common.target import Target
from .accessors import INDEX_LETTERS
from .structs import Structs
from .tree_structs import CELL


def no_members(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return the names that no member may have: macros replace members too, and in C++ a member shadows a type."""
    blocks = macros(len(kernel.tasks)) | constants(target.language)
    types = structs.names.values() if structs is not None else ()
    return (target.language.reserved | target.language.reserved_members | blocks).union(types)


def taken_names(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return the names that nothing with file scope may have."""
    generated = GENERATED_NAMES | target.referenced | functions(entry_stem(kernel), len(kernel.tasks))
    return no_members(kernel, target, structs) | target.language.functions | generated


def parameters_of(kernel: Kernel) -> frozenset[str]:
    """Return the parameters of the macros: a member that a macro uses may not have such a name."""
    places = [place for tree in kernel.trees.values() for place in tree.elements]
    axes = [*(array.ndim for array in kernel.arrays), *(len(axes_of(place)) for place in places)]
    return frozenset([*INDEX_LETTERS[: max(axes, default=0)], *([CELL] if any(map(pool_above, places)) else [])])
