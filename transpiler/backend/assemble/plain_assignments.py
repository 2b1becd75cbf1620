"""Which `v += w` on vectors and matrices are printed as `v = v + w`: where `operator+=` would serve them alone.

    operator+(vec2 a, vec2 b)                        operator+(vec2 a, vec2 b)
    operator+=(vec2 &a, vec2 b)              ->      v = v + w;
    v += w;

In: a kernel in its final form. Out: operations on variables. A function that few statements use, where another does the
same, is only one more to read. Where a type has `+=` for other statements, `-=` is written too.
"""

from __future__ import annotations

from collections import Counter, defaultdict

from ...ir.nodes import Statement
from ...ir.statements import Alloca, GlobalLoad, GlobalStore, LocalLoad, LocalStore, Operation
from ...ir.tasks import Kernel
from ...ir.types import Tensor, Type

Key = tuple[str, tuple[Type | None, ...]]

FEW = 2
"""Statements that need no function of their own."""


def plain_assignments(kernel: Kernel) -> frozenset[Statement]:
    """Return the operations that are stored where their first operand was loaded, and yet need no `op=`."""
    statements = list(kernel.statements())
    counts = Counter(_key(s) for s in statements if isinstance(s, Operation) and isinstance(s.type, Tensor))
    found: defaultdict[Key, list[tuple[Operation, bool]]] = defaultdict(list)
    for store in statements:
        if not isinstance(store, (LocalStore, GlobalStore)) or not isinstance(store.value, Operation):
            continue
        load = store.value.operands[0]
        if isinstance(load, (LocalLoad, GlobalLoad)) and load.pointer is store.pointer:
            found[_key(store.value)].append((store.value, isinstance(store.pointer, Alloca)))
    plain = {
        operation: key
        for key, group in found.items()
        if len(group) <= FEW and all(is_variable for _, is_variable in group)
        for operation, _ in group
        if counts[key] > len(group) or (isinstance(operation.type, Tensor) and len(operation.type.shape) > 1)
    }
    compound = {key[1] for key, group in found.items() for operation, _ in group if operation not in plain}
    return frozenset(operation for operation, (_, types) in plain.items() if types not in compound)


def _key(operation: Operation) -> Key:
    return operation.op, tuple(operand.type for operand in operation.operands)
