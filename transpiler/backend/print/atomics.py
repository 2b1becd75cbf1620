"""Prints atomic operations: calls of functions of the language or of helpers, several additions as one where marked.

In: an `AtomicOp` on a number. Out: a line, or the value of its call.
"""

from __future__ import annotations

from collections.abc import Callable

from ...errors import UnsupportedError
from ...ir.statements import AtomicOp
from ...ir.types import Scalar
from ..languages.common.atomics import is_native
from ..languages.common.syntax import atomic_syntax
from ..languages.common.syntax_forms import ASSIGN, Rendered
from .expressions import is_shared
from .statements import Statements, print_call


def write_atomic(p: Statements, atomic: AtomicOp) -> None:
    """Print an atomic operation, or all of those that are performed together."""
    assert isinstance(atomic.type, Scalar)
    if atomic.together is not None:
        _add_together(p, atomic, *atomic.together)
        return
    shared = is_shared(atomic.pointer)
    native = is_native(p.shared_atomics if shared else p.atomics, atomic.op, atomic.type)
    try:
        syntax = atomic_syntax(p.e.language, atomic.op, atomic.type, native)
        if shared and len(syntax.operand_precedence) > 2:
            raise UnsupportedError(f"this device has no atomic {atomic.op} of {atomic.type} in shared memory")
    except UnsupportedError as error:
        raise atomic.location.error(UnsupportedError, error.message, error.hint) from None
    p.e.use(syntax)
    value = p.e.operand(atomic.value, syntax.operand_precedence[1])
    data = p.e.scalar_address(atomic.pointer) if len(syntax.operand_precedence) > 2 else ()
    print_call(p, atomic, Rendered(syntax.format(p.e.lvalue(atomic.pointer), value, *data)))


def _add_together(p: Statements, atomic: AtomicOp, number: int, lane: int, count: int) -> None:
    """Print additions to neighbours in memory, at the last of them: `atomic_add_f32x4(&v(i).x, a, b, c, d)`."""
    p.mark(atomic.location)
    lanes = p.together.setdefault(number, {})
    lanes[lane] = atomic
    if len(lanes) == count:
        name = f"atomic_add_{atomic.type}x{count}"
        p.e.need(name)
        values = ", ".join(p.e.operand(lanes[k].value, ASSIGN) for k in range(count))
        p.emit(f"{name}(&{p.e.lvalue(lanes[0].pointer)}, {values});", atomic.location)


WRITERS: dict[type, Callable[..., None]] = {AtomicOp: write_atomic}
