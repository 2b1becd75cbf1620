"""Errors for kernels that cannot be differentiated as a whole.

`check_kernel` looks at the kernel, `check_result` at what its gradient would run again.
"""

from __future__ import annotations

from collections.abc import Iterable

from ....errors import TaichiCompilationError
from ....ir.functions import calls
from ....ir.nodes import Block, Statement, walk
from ....ir.sparse import Append
from ....ir.statements import GlobalLoad, GlobalPtr, Rand, base_pointer
from ....ir.tasks import Kernel
from ....ir.threads import Barrier, Collective, Exchange, ThreadIndex

THREADS = (Barrier, Collective, Exchange, ThreadIndex)


def check_kernel(kernel: Kernel) -> None:
    """Raise TaichiCompilationError for a kernel whose threads share memory, or that calls functions."""
    name = kernel.location.function
    for statement in walk(kernel.body):
        is_shared = isinstance(statement, GlobalPtr) and statement.array.is_shared
        if is_shared or isinstance(statement, THREADS):
            raise statement.location.error(
                TaichiCompilationError,
                f"The gradient of `{name}` cannot be derived: its threads share memory or synchronize",
                "write the gradient by hand and register it: `ti.ad.grad_replaced`, `ti.ad.grad_for`",
            )
    for call in calls(kernel.body):
        raise call.location.error(
            TaichiCompilationError,
            f"The gradient needs the derivative of `{call.function.name}`, a `ti.real_func` that calls itself or takes "
            "references",
            "make it a `ti.func` with a loop, which is differentiated with the kernel",
        )


def check_result(kernel: Kernel, body: Block, needed: Iterable[Statement], unrepeatable: set[Statement]) -> None:
    """Raise TaichiCompilationError if the gradient runs something again that gives other values by then.

    needed: the statements of the kernel that it runs again. unrepeatable: those of the gradient that stand for results
    of atomic operations.
    """
    gradients = {array.derivative for array in kernel.arrays}
    for statement in needed:
        base = base_pointer(statement.pointer) if isinstance(statement, GlobalLoad) else None
        if isinstance(base, GlobalPtr) and base.array in gradients:
            raise statement.location.error(
                TaichiCompilationError,
                f"The gradient needs this value of `{base.array.name}`, which it changes itself",
                "copy the gradient to another field first, and read that here",
            )
    for statement in walk(body):
        if isinstance(statement, Rand):
            raise _not_repeatable(statement, "the random number of this line")
        if isinstance(statement, Append):
            raise _not_repeatable(statement, "the index that `append` returned")
        if statement in unrepeatable:
            raise _not_repeatable(statement, "what an atomic operation of this line returned")


def _not_repeatable(statement: Statement, what: str) -> TaichiCompilationError:
    return statement.location.error(
        TaichiCompilationError,
        f"The gradient needs {what}, which differs when it is computed again",
        "store it in a field, in a kernel of its own, and read it here",
    )
