"""The memory in use on the device by owner: `ti.profiler.print_memory_profiler_info`.

In: a session, and the names of its objects in the user's program. Out: a row for each field, ndarray, texture and tree,
and a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...transpiler.ir.types import Struct, Type, describe_type
from ...transpiler.lang.describe import name_step
from ..arrays.dense_array import DenseArray
from ..arrays.memory import Memory
from ..arrays.texture import Texture
from ..devices.device import format_size
from ..session.session import Session
from .tree_memory import TreeMemory

HEADS = ("name", "kind", "element", "shape", "size")


@dataclass(frozen=True, slots=True)
class Row:
    """One owner of memory. kind: "field", "ndarray", "texture" or "tree". name: in the user's program, else empty."""

    name: str
    kind: str
    element: str
    shape: str
    size_bytes: int


def rows_of(session: Session, names: Mapping[int, str]) -> list[Row]:
    """Return a row for each owner, the largest first. names: of the program's objects, by `id`."""
    rows = [row for owned in list(session.arrays) for row in _rows(owned, names)]
    return sorted(rows, key=lambda row: (-row.size_bytes, row.name, row.kind))


def names_in(*scopes: Mapping[str, Any]) -> dict[int, str]:
    """Return the names of a program's arrays, by `id`: `x`, `x.grad`, `v.y`, and `sand.x` for members of objects."""
    found: dict[int, str] = {}
    for scope in scopes:
        for name, value in list(scope.items()):
            _add_name(found, name, value)
            members = getattr(type(value), "_data_oriented", False) and getattr(value, "__dict__", None)
            for member, inner in (members or {}).items():
                _add_name(found, f"{name}.{member}", inner)
    return found


def _add_name(found: dict[int, str], name: str, value: Any) -> None:
    if not isinstance(value, DenseArray | Texture) or id(value) in found:
        return
    found[id(value)] = name
    if isinstance(value, Texture):
        return
    for derivative in ("grad", "dual"):
        _add_name(found, f"{name}.{derivative}", getattr(value, derivative, None))
    for step, part in (getattr(value, "parts", None) or {}).items():
        _add_name(found, name_step(name, value.element, step), part)


def table(session: Session, names: Mapping[int, str]) -> str:
    """Return the report as a table."""
    rows = rows_of(session, names)
    cells = [HEADS, *((r.name or "-", r.kind, r.element, r.shape, format_size(r.size_bytes)) for r in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADS))]
    lines = [f"memory on arch={session.arch.name}"]
    for row in cells:
        parts = [cell.ljust(width) for cell, width in zip(row[:-1], widths[:-1], strict=True)]
        lines.append("  ".join([*parts, row[-1].rjust(widths[-1])]).rstrip())
    counts = Counter(row.kind for row in rows)
    kinds = ", ".join(f"{count} {kind}{'s' * (count > 1)}" for kind, count in sorted(counts.items())) or "no arrays"
    held = sum(row.size_bytes for row in rows)
    used = session.device.used_bytes
    rest = f"; {format_size(used - held)} for kernels and copies" if used > held else ""
    return "\n".join([*lines, f"{kinds}: {format_size(held)}{rest}"]) + "\n"


def _rows(owned: Any, names: Mapping[int, str]) -> Iterator[Row]:
    if isinstance(owned, TreeMemory):
        size_bytes = owned.size_bytes
        fields = owned.living_fields()
        if not size_bytes:
            return
        shown = ", ".join(sorted(_name(field, names) or "-" for field in fields))
        elements = ", ".join(dict.fromkeys(_element(field.element) for field in fields))
        shapes = ", ".join(dict.fromkeys(str(field.shape) for field in fields))
        yield Row(shown, "tree" if len(fields) > 1 else "field", elements, shapes, size_bytes)
    elif isinstance(owned, DenseArray) and isinstance(owned.memory, Memory) and not owned.memory.is_freed:
        name = _name(owned, names)
        yield Row(name, owned.KIND, _element(owned.element), str(owned.shape), owned.memory.size_bytes)
    elif isinstance(owned, Texture):
        yield Row(names.get(id(owned), ""), "texture", owned.fmt.name, str(owned.shape), owned.spec.size_bytes)


def _name(array: Any, names: Mapping[int, str]) -> str:
    return array.name or names.get(id(array), "")


def _element(element: Type) -> str:
    return f"{{{', '.join(element.names)}}}" if isinstance(element, Struct) else describe_type(element)
