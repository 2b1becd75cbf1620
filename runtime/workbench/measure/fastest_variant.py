"""The fastest right text of a kernel, for `kernel.use("fastest")`.

In: variants. Out: the name of one. Each is compared with the generated text before it is timed; one that computes
something else is left out, and a warning says so.
"""

from __future__ import annotations

from ....transpiler.errors import TaichiCompilationError, warn_user
from ..edits.variants import GENERATED, TUNED, Variants
from .bench import bench
from .compare import compare

SECONDS = 2.0
"""For the rounds of one choice; it is made once for each kind of arguments."""


def fastest(variants: Variants) -> str:
    """Return the variant that is surely faster than the generated text, and than the others, else "generated"."""
    right = [GENERATED]
    for name in variants.edits:
        try:
            comparison = compare(variants, name)
        except TaichiCompilationError as error:
            warn_user(f"{error}\nThe variant `{name}` of kernel `{variants.generated.kernel}` is left out")
            continue
        if comparison.passed:
            right.append(name)
        else:
            warn_user(f"{comparison}\nThe variant `{name}` computes something else and is left out")
    if len(right) == 1:
        return GENERATED
    found = bench(variants, right, SECONDS).fastest
    return variants.chosen.variant if found == TUNED else found
