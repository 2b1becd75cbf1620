"""Which words are taken in the text of a kernel before any of the user's names is: by the language, and by ourselves.

In: a kernel, and a target whose `needed` are the words that the text means something by. `hidden_names` finds these
when a text has been printed. Out: words.
"""

from __future__ import annotations

from ...ir.snodes import axes_of, pool_above
from ...ir.tasks import Kernel
from ..languages.common.helpers import constants
from ..languages.common.naming import entry_stem
from ..languages.common.reserved import OURS, functions, macros
from ..languages.common.target import Target
from .accessors import INDEX_LETTERS
from .structs import Structs
from .tree_structs import CELL


def no_members(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return what no member may be called: macros replace members too, and in C++ a member hides a type below it."""
    blocks = macros(task.block_dim for task in kernel.tasks) | constants(target.language)
    types = structs.names.values() if structs is not None else ()
    return (target.language.reserved | target.language.reserved_members | blocks).union(types)


def taken_names(kernel: Kernel, target: Target, structs: Structs | None = None) -> frozenset[str]:
    """Return what nothing may be called that all of a file sees."""
    ours = OURS | target.needed | functions(entry_stem(kernel), len(kernel.tasks))
    return no_members(kernel, target, structs) | target.language.functions | ours


def parameters_of(kernel: Kernel) -> frozenset[str]:
    """Return the parameters of the macros: nothing that a macro reaches memory by may be called so."""
    places = [place for tree in kernel.trees.values() for place in tree.elements]
    axes = [*(array.ndim for array in kernel.arrays), *(len(axes_of(place)) for place in places)]
    return frozenset([*INDEX_LETTERS[: max(axes, default=0)], *([CELL] if any(map(pool_above, places)) else [])])
