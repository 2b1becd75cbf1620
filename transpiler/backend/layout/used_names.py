"""Names that are taken in a source before any of the user's names: by the language and by generated code.

In: a kernel, and a target with the names that its source references (`assemble/names.py` collects them from the printed
source). Out: names.
"""

from __future__ import annotations

from functools import cache

from ...ir.snodes import axes_of, pool_above
from ...ir.tasks import Kernel
from ..languages.common.helpers import constants
from ..languages.common.language import Language
from ..languages.common.naming import entry_stem
from ..languages.common.reserved import GENERATED_NAMES, functions, macros
from ..languages.common.target import Target
from .accessors import INDEX_LETTERS
from .structs import Structs
from .tree_structs import CELL


@cache
def _no_members_of(language: Language) -> frozenset[str]:
    return language.reserved.union(language.reserved_members, constants(language))


@cache
def _taken_names_of(language: Language) -> frozenset[str]:
    return _no_members_of(language).union(language.functions, GENERATED_NAMES)


def no_members(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return the names that no member may have: macros replace members too, and in C++ a member shadows a type."""
    types = structs.names.values() if structs is not None else ()
    return _no_members_of(target.language).union(macros(len(kernel.tasks)), types)


def taken_names(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return the names that nothing with file scope may have."""
    types = structs.names.values() if structs is not None else ()
    tasks = len(kernel.tasks)
    generated = target.referenced, functions(entry_stem(kernel), tasks), macros(tasks), types
    return _taken_names_of(target.language).union(*generated)  # a thousand names, which each union copies


def parameters_of(kernel: Kernel) -> frozenset[str]:
    """Return the parameters of the macros: a member that a macro uses may not have such a name."""
    places = [place for tree in kernel.trees.values() for place in tree.elements]
    axes = [*(array.ndim for array in kernel.arrays), *(len(axes_of(place)) for place in places)]
    return frozenset([*INDEX_LETTERS[: max(axes, default=0)], *([CELL] if any(map(pool_above, places)) else [])])
