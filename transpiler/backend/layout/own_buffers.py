"""The two buffers that belong to a kernel: temporaries, which are values that cross tasks, and results."""

from __future__ import annotations

from collections.abc import Collection
from itertools import islice

from ...ir.statements import Temporary
from ...ir.tasks import Kernel
from ...ir.types import (
    Struct,
    Tensor,
    Type,
    aligned,
    alignment_bytes,
    element_of,
    struct_layout,
)
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names
from ..languages.common.target import Target
from ..module.interface import ResultField
from .declarations import Declaration, precise
from .structs import Structs
from .used_names import no_members


@dataclass(frozen=True, slots=True)
class TemporaryBuffer:
    """The buffer of temporaries. expressions, offsets, declared: of each, in order."""

    expressions: dict[Temporary, str]
    offsets: dict[Temporary, int]
    declared: dict[Temporary, Declaration]
    size_bytes: int

    @property
    def members(self) -> list[Declaration]:
        """The members of the struct `Temporaries`."""
        return list(self.declared.values())

    def members_for(self, used: Collection[Temporary]) -> list[Declaration]:
        """Return the members of a GLSL block that a file of one task declares: those that it uses, or the first, since
        a block has one. A member that does not follow the one before it says where it is.
        """
        chosen: list[Declaration] = []
        end = 0
        for temporary in sorted(used, key=self.offsets.__getitem__):
            offset, member = self.offsets[temporary], self.declared[temporary]
            is_next = offset == aligned(end, alignment_bytes(temporary.type))
            placed = member.type if is_next else f"layout(offset = {offset}) {member.type}"
            chosen.append(Declaration(placed, member.name, member.note))
            end = offset + temporary.type.size_bytes * temporary.count
        return chosen or [*islice(self.declared.values(), 1)]


@dataclass(frozen=True, slots=True)
class ResultBuffer:
    """The buffer of results. fields: of the interface. members: of the struct `Result`."""

    fields: tuple[ResultField, ...]
    members: list[Declaration]
    size_bytes: int


def temporary_buffer(kernel: Kernel, target: Target, structs: Structs) -> TemporaryBuffer:
    """Lay out the temporaries."""
    names = Names(no_members(kernel, target, structs))
    expressions: dict[Temporary, str] = {}
    offsets: dict[Temporary, int] = {}
    declarations: dict[Temporary, Declaration] = {}
    offset = 0
    for temporary in kernel.temporaries:
        name = names.declare(temporary.name)
        expressions[temporary] = f"args.temporaries{target.language.arrow}{name}"
        declared = precise(target, temporary.type, structs.name_of_type(temporary.type, True))
        array = f"[{temporary.count}]" if temporary.count > 1 else ""
        declarations[temporary] = Declaration(declared, f"{name}{array}", str(temporary.type))
        offsets[temporary] = aligned(offset, alignment_bytes(temporary.type))
        offset = offsets[temporary] + temporary.type.size_bytes * temporary.count
    return TemporaryBuffer(expressions, offsets, declarations, aligned(offset, 8))


def result_buffer(types: list[Type], target: Target, structs: Structs) -> ResultBuffer:
    """Lay out the results."""
    fields: list[ResultField] = []
    members: list[Declaration] = []
    offset = 0
    for number, type in enumerate(types):
        offset = aligned(offset, alignment_bytes(type))
        fields.append(_result_field(type, offset))
        name = "value" if len(types) == 1 else f"value_{number}"
        members.append(Declaration(precise(target, type, structs.name_of_type(type, True)), name, str(type)))
        offset += type.size_bytes
    size_bytes = aligned(max(offset, 1), 8) if types else 0  # a struct may have no members
    return ResultBuffer(tuple(fields), members, size_bytes)


def _result_field(type: Type, offset: int) -> ResultField:
    if isinstance(type, Struct):
        starts, _ = struct_layout(type)
        inner = zip(type.members, starts, strict=True)
        parts = tuple((name, _result_field(member, offset + start)) for (name, member), start in inner)
        return ResultField(f"struct {type}", (), offset, parts)
    return ResultField(element_of(type).name, type.shape if isinstance(type, Tensor) else (), offset)
