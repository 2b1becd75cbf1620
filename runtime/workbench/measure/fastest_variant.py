"""The fastest correct variant of a kernel, for `kernel.use("fastest")`.

In: variants. Out: the name of one. Each is compared with the generated source before it is timed; one that computes
something else is left out with a warning.
"""

from __future__ import annotations

from ....transpiler.errors import TaichiCompilationError, warn_user
from ..edits.variants import GENERATED, TUNED, Variants
from .bench import bench
from .swept import compare

SECONDS = 2.0
"""For the rounds of one choice, which is made once for each specialization."""


def fastest(variants: Variants) -> str:
    """Return the fastest variant if it is faster than the generated source beyond doubt, else "generated"."""
    correct = [GENERATED]
    for name in variants.edits:
        try:
            comparison = compare(variants, name)
        except TaichiCompilationError as error:
            warn_user(f"{error}\nThe variant `{name}` of kernel `{variants.generated.kernel}` is left out")
            continue
        if comparison.passed:
            correct.append(name)
        else:
            warn_user(f"{comparison}\nThe variant `{name}` computes something else and is left out")
    if len(correct) == 1:
        return GENERATED
    found = bench(variants, correct, SECONDS).fastest
    return variants.chosen.variant if found == TUNED else found
