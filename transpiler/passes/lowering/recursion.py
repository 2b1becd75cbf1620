"""Rejects recursive functions if the target has no call stack: GLSL forbids them, and drivers crash on them.

The error shows the cycle of calls: fib -> fib, or even -> odd -> even.
"""

from __future__ import annotations

from ...errors import UnsupportedError
from ...ir.functions import Call, Function, calls
from ...ir.tasks import Kernel
from ..context import PassContext


def recursion(kernel: Kernel, context: PassContext) -> bool:
    """Raise UnsupportedError at the call through which a function calls itself, if the target has no recursion."""
    if context.capabilities.recursion:
        return False
    finished: set[Function] = set()
    for start in kernel.functions:
        _follow([start], finished, context)
    return False


def _follow(chain: list[Function], finished: set[Function], context: PassContext) -> None:
    """Follow the calls of the last function of `chain`, each of whose functions calls the next."""
    function = chain[-1]
    if function in finished:
        return
    for call in calls(function.body):
        if call.function in chain:
            raise _error(call, [*chain[chain.index(call.function) :], call.function], context)
        _follow([*chain, call.function], finished, context)
    finished.add(function)


def _error(call: Call, cycle: list[Function], context: PassContext) -> Exception:
    names = " -> ".join(function.name for function in cycle)
    message = f"`{cycle[0].name}` calls itself ({names}); {context.capabilities.target} has no recursion"
    hint = "write a loop with a stack of its own, end it at compile time with `ti.func` and `ti.static`, or use ti.cpu"
    return call.location.error(UnsupportedError, message, hint)
