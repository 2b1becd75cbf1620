"""What a tape has to know of a kernel: the elements that it stores, and those that its gradient needs.

In: the specialization of a gradient. Out: `derivative_accesses`. The gradient itself is compiled, and cached, like any
kernel; this needs the frontend and the first passes again, once for each specialization that a tape records.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .errors import SourceLocation
from .frontend.builders.build import build
from .frontend.source.specialization import Specialization
from .ir.nodes import walk
from .ir.statements import AtomicOp, GlobalStore
from .passes import PassContext, run
from .passes.context import ElementAccess, Flow, SummedGradient
from .passes.derivatives.parts import activity


class DerivativeAccesses(NamedTuple):
    """What a kernel and its gradient access; by binding: the captured array, the argument's position, the name.

    flows: through which arrays without a gradient the kernel passes numbers on. summed: which arrays have to be
    different ones.
    """

    accesses: list[ElementAccess]
    fields: list[Any]
    parameters: list[int | None]
    names: list[str]
    flows: list[Flow]
    summed: list[SummedGradient]


def has_gradients(specialization: Specialization) -> bool:
    """Return whether a gradient changes an array.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    kernel = build(specialization).kernel
    run(kernel, PassContext(specialization.options, specialization.capabilities), last="reverse_mode")
    return any(isinstance(statement, (AtomicOp, GlobalStore)) for statement in walk(kernel.body))


def lines_with_kinks(
    specialization: Specialization, binding: int
) -> tuple[list[SourceLocation], SourceLocation | None]:
    """Return where steps and kinks of what an array's elements become may be in a kernel, and where it is read first.

    specialization: of the gradient. binding: of the array.
    """
    return activity.lines_with_kinks(build(specialization).kernel.body, binding)


def derivative_accesses(specialization: Specialization) -> DerivativeAccesses:
    """Return the accesses of a gradient's specialization.

    Raises: TaichiCompilationError for the user's mistakes, as compiling does.
    """
    result = build(specialization)
    context = PassContext(specialization.options, specialization.capabilities)
    arrays = [array for array in result.kernel.arrays if array.may_alias]
    run(result.kernel, context, last="gather_adjoints" if len(arrays) > 1 else "reverse_mode")
    parameters = [array.parameter for array in result.kernel.arrays]
    names = [array.path or array.name for array in result.kernel.arrays]
    return DerivativeAccesses(context.accesses, result.fields, parameters, names, context.flows, context.summed)
