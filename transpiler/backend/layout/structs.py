"""Structs on each target: their names and the names of their members, declarations and literals.

In: the struct types of a kernel, and which of them are stored in memory. Out: their source. A struct has the members of
the Python type in the same order and the layout of `ir.types`, with two differences that GLSL needs: u1 is a byte in
stored structs, since GLSL has no bool in memory, and a struct that another member follows has explicit padding at its
end, since scalar block layout, unlike C, would put the next member into the gap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import field

from ...ir.tasks import with_members
from ...ir.types import Scalar, Struct, Type, element_of, scalars_of, struct_layout, u1, u8
from ...lazy_dataclasses import dataclass
from ..languages.common.language import Language
from ..languages.common.literals import literal
from ..languages.common.naming import Names
from ..languages.common.one_line import struct_source
from ..languages.common.syntax import storage_helpers, storage_name, type_helpers, type_name
from ..languages.common.tensors import whole_alignment


@dataclass(slots=True)
class Structs:
    """The structs of one kernel in one language.

    stored: those stored in memory.
    followed: those of them inside a struct or block, where another member may follow.
    aligned: those of which one instruction loads or stores several members.
    names: of all structs.
    members: names of members by struct.
    """

    language: Language
    stored: frozenset[Struct]
    followed: frozenset[Struct] = frozenset()
    aligned: frozenset[Struct] = frozenset()
    names: dict[Struct, str] = field(default_factory=dict)
    members: dict[Struct, dict[str, str]] = field(default_factory=dict)

    def name_of_type(self, type: Type, in_memory: bool) -> str:
        """Return the name of any type; in memory, u1 is a byte in GLSL."""
        if isinstance(type, Struct):
            return self.names[type]
        return (storage_name if in_memory else type_name)(self.language, type)

    def helpers(self, type: Type, in_memory: bool) -> list[str]:
        """Return the keys of the helpers that declare the types of all parts of `type`."""
        if isinstance(type, Struct):
            in_memory = type in self.stored
            return [key for _, member in type.members for key in self.helpers(member, in_memory)]
        return list((storage_helpers if in_memory else type_helpers)(self.language, type))

    def as_bytes(self, struct: Struct, member: Type) -> bool:
        """Return whether a member of `struct` is stored as bytes although its type is u1."""
        is_bool = not isinstance(member, Struct) and element_of(member) == u1
        return is_bool and not self.language.bool_in_memory and struct in self.stored

    def declaration(self, struct: Struct) -> str:
        """Return the declaration of a struct, whose members' types are declared already."""
        name, in_memory = self.names[struct], struct in self.stored
        members = [
            (self.name_of_type(type, in_memory), self.members[struct][member]) for member, type in struct.members
        ]
        members += [(type_name(self.language, type), filler) for filler, type in self.padding(struct)]
        if not members:
            members = [("int", "nothing")]  # neither C nor GLSL has structs without members
        if struct in self.aligned:
            name = self.language.aligned.format(name=name, bytes=whole_alignment(struct))
        return struct_source(self.language, name, members) + self._check(struct)

    def _check(self, struct: Struct) -> str:
        """Return the line by which a compiler checks that it lays a struct out as the host does."""
        keyword = self.language.size_check
        if not keyword or struct not in self.stored or not struct.members:
            return ""
        return f'\n{keyword}(sizeof({self.names[struct]}) == {struct.size_bytes}, "must match the size on the host");'

    def padding(self, struct: Struct) -> list[tuple[str, Scalar]]:
        """Return the names and types of the padding at the end of a struct in GLSL."""
        if not self.language.pads_structs or struct not in self.followed or not struct.members:
            return []
        offsets, size = struct_layout(struct)
        gap = size - offsets[-1] - struct.members[-1][1].size_bytes
        smallest = min(scalars_of(struct), key=lambda scalar: scalar.size_bytes)
        count = gap // smallest.size_bytes
        filler = u8 if smallest == u1 else smallest
        stem = "padding" if "padding" not in self.members[struct].values() else "padding_"
        return [(stem if count == 1 else f"{stem}_{k}", filler) for k in range(count)]

    def init(self, struct: Struct, values: Sequence[str]) -> tuple[str, str]:
        """Return the name of a struct and the values of a literal of it. values: of its members."""
        name = self.names[struct]
        fillers = [literal(self.language, filler, 0).template for _, filler in self.padding(struct)]
        source = ", ".join([*values, *fillers] or ["0"])
        return name, source


def make_structs(
    language: Language,
    stored: Sequence[Type],
    blocks: Iterable[Type],
    used: Iterable[Struct],
    aligned: frozenset[Struct],
    taken: frozenset[str],
    members: frozenset[str],
) -> Structs:
    """Return the structs of a kernel with unique names.

    Args:
        stored: types stored in memory.
        blocks: those of them in a block with several members.
        used: all structs, inner ones first.
        aligned: those that start at multiples of `whole_alignment` wherever they are stored.
        taken: names that no type may have.
        members: names that no member may have.
    """
    in_memory = frozenset(with_members(type for type in stored if isinstance(type, Struct)))
    inner = [type for struct in in_memory for _, type in struct.members]
    followed = frozenset(type for type in (*blocks, *inner) if isinstance(type, Struct))
    structs = Structs(language, in_memory, followed, aligned)
    names = Names(taken)
    structs.names = {struct: names.declare(struct.name) for struct in used}
    for struct in structs.names:
        own = Names(members.union(structs.names.values()))  # in C++ a member hides a type below it
        structs.members[struct] = {member: own.declare(member) for member in struct.names}
    return structs
