"""Names of the struct types of one kernel: each type of the language gets a unique name.

Input: IR types of annotations and arrays. Output: the same types with their final names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...ir.types import Struct, Type
from ...lang.struct import StructType
from .scope import Frame

SHOWN_MEMBERS = 3
"""Number of members in the generated name of a struct."""


class StructTypes:
    """The names assigned so far. frames: functions under construction, whose variables may name a type."""

    def __init__(self, frames: Sequence[Frame]) -> None:
        self.frames = frames
        self.named_by_origin: dict[int, tuple[Any, Struct]] = {}
        self.by_name: dict[str, Struct] = {}
        self.functions: dict[Struct, dict[str, Any]] = {}

    def named(self, type: Type) -> Type:
        """Return `type` with the names that its structs have in this kernel."""
        return self.struct(type) if isinstance(type, Struct) else type

    def struct(self, type: Struct) -> Struct:
        """Return a struct with its name. A struct that the kernel creates is named after its members."""
        origin = type.origin
        known = self.named_by_origin.get(id(origin)) if origin is not None else None
        if known is not None and known[1].names == type.names:
            return known[1]
        members = tuple((name, self.named(member)) for name, member in type.members)
        name = type.name if origin is None else self._name_of(origin)
        registered = self._unique(name or _name_of_members(type), members, origin)
        if origin is not None:
            self.named_by_origin[id(origin)] = origin, registered
        return registered

    def methods(self, type: Struct) -> Mapping[str, Any]:
        """Return the methods of a struct."""
        return self.functions.get(type, {})

    def _name_of(self, origin: StructType) -> str | None:
        for frame in reversed(self.frames):
            for name, value in frame.captured.items():
                if value is origin and origin.name is None:
                    return name
        return origin.known_name()

    def _unique(self, name: str, members: tuple[tuple[str, Type], ...], origin: StructType | None) -> Struct:
        methods = {} if origin is None else origin.methods
        candidate, number = name, 1
        while True:
            struct = Struct(candidate, members, origin)
            known = self.by_name.setdefault(candidate, struct)
            if known is struct:
                self.functions[struct] = methods
            if known == struct and self.functions[known] == methods:
                return known
            number += 1
            candidate = f"{name}_{number}"


def _name_of_members(type: Struct) -> str:
    shown = "_".join(type.names[:SHOWN_MEMBERS])
    return f"Struct_{shown}" if shown else "Struct"
