"""What a tape has to know of a kernel: the elements that it stores, and those that its gradient needs.

In: the specialization of a gradient. Out: `derivative_accesses`. The gradient itself is compiled, and cached, like any
kernel; this asks the frontend and the first passes again, once for each specialization that a tape records.
"""

from __future__ import annotations

from typing import Any

from .frontend.builders.build import build
from .frontend.source.specialization import Specialization
from .passes import PassContext, run
from .passes.context import ElementAccess


def derivative_accesses(specialization: Specialization) -> tuple[list[ElementAccess], list[Any], list[int | None]]:
    """Return the accesses, and for each binding the captured array or the position of the argument.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    result = build(specialization)
    context = PassContext(specialization.options, specialization.capabilities)
    run(result.kernel, context, last="reverse_mode")
    parameters = [array.parameter for array in result.kernel.arrays]
    return context.accesses, result.fields, parameters
