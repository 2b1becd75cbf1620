"""Whether two pieces of IR are the same: equal values, and references that lead to the same places in both.

Written without `ir/serialize*.py`, which it judges: it looks at dataclasses member by member.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from enum import Enum
from typing import Any

from shadesmith.transpiler.errors import NOWHERE
from shadesmith.transpiler.ir.tasks import Kernel
from shadesmith.transpiler.ir.types import Struct


def first_difference(a: Any, b: Any) -> str | None:
    """Return where two values differ, None where they do not."""
    partner: dict[int, Any] = {}
    taken: dict[int, Any] = {}
    pending = [(a, b, "kernel")]
    while pending:
        left, right, path = pending.pop()
        if type(left) is not type(right):
            return f"{path}: {left!r:.60} and {right!r:.60}"
        if _has_identity(left):
            if (id(left) in partner) != (id(right) in taken) or partner.get(id(left), right) is not right:
                return f"{path}: refers to another object"
            if id(left) in partner:
                continue
            partner[id(left)], taken[id(right)] = right, left
        elif left is NOWHERE or right is NOWHERE:
            if left is not right:
                return f"{path}: nowhere"
            continue
        children = list(_children(left)), list(_children(right))
        if len(children[0]) != len(children[1]):
            return f"{path}: {len(children[0])} parts and {len(children[1])}"
        if not children[0] and repr(left) != repr(right):
            return f"{path}: {left!r:.60} and {right!r:.60}"
        pending += [(x, y, f"{path}.{name}") for (name, x), (_, y) in zip(*children, strict=True)]
    return None


def objects_of(kernel: Kernel) -> list[Any]:
    """Return all that is compared by identity in a kernel."""
    found: dict[int, Any] = {}
    pending: list[Any] = [kernel]
    while pending:
        item = pending.pop()
        if _has_identity(item):
            if id(item) in found:
                continue
            found[id(item)] = item
        pending += [child for _, child in _children(item)]
    return list(found.values())


def _has_identity(item: Any) -> bool:
    return dataclasses.is_dataclass(item) and not type(item).__dataclass_params__.eq  # type: ignore[attr-defined]


def _children(item: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(item, Enum):
        return
    if dataclasses.is_dataclass(item):
        left_out = ("origin", "types") if isinstance(item, Struct) else ()
        for member in dataclasses.fields(item):
            if member.name not in left_out:
                yield member.name, getattr(item, member.name)
    elif isinstance(item, dict):
        for number, (key, value) in enumerate(item.items()):
            yield f"key{number}", key
            yield f"value{number}", value
    elif isinstance(item, (list, tuple)):
        yield from ((str(number), part) for number, part in enumerate(item))
    elif isinstance(item, frozenset):
        yield from ((part.name, part) for part in sorted(item, key=lambda array: (array.binding, array.name)))
