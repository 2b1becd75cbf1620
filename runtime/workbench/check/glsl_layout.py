"""Compare the interface of a compiled shader with the generated one, member by member.

In: two reflections of SPIR-V. Out: diagnostics, at the lines of the edited source that declare what differs. Names of
types do not matter, nor that of the array inside a buffer reference; those of members do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from ....transpiler.backend.module.divisors import DIVISOR
from ...devices.vulkan.spirv import (
    Array,
    Image,
    Matrix,
    Member,
    Opaque,
    Pointer,
    Reflection,
    Scalar,
    Struct,
    Type,
    Variable,
    Vector,
    size_bytes,
)
from .diagnostics import (
    Diagnostic,
    DiagnosticList,
    element_type,
    extra_member,
    missing_member,
    moved_member,
    retyped_member,
)
from .parsed_source import Location, ParsedSource

REQUIRED_QUALIFIERS = ("readonly", "coherent", "volatile")
"""Qualifiers of memory that the generated source needs."""
MEMORY_QUALIFIERS = ("coherent", "volatile")
"""Those of an array: without `readonly` the source does the same."""
WHY_REQUIRED = {
    "readonly": "the host relies on it that nothing is written there",
    "coherent": "without it other blocks may not see what one has written before a barrier or a fence",
    "volatile": "without it this driver reads wrong components",
}
CAST = "another buffer reference: `F32x4(args.x_data).v[i]`"
SCALAR_NAMES = {
    ("bool", 32): "bool", ("int", 8): "int8_t", ("int", 16): "int16_t", ("int", 32): "int", ("int", 64): "int64_t",
    ("uint", 8): "uint8_t", ("uint", 16): "uint16_t", ("uint", 32): "uint", ("uint", 64): "uint64_t",
    ("float", 16): "float16_t", ("float", 32): "float", ("float", 64): "double",
}  # fmt: skip
DIMENSIONS = {0: "1D", 1: "2D", 2: "3D", 3: "Cube"}
"""SPIR-V's numbers of the kinds of images."""
PREFIXES = {"float": "", "double": "d", "int": "i", "uint": "u", "bool": "b", "float16_t": "f16"}


def name_of(type: Type) -> str:
    """Return a type as GLSL writes it."""
    match type:
        case Scalar(kind, bits):
            return SCALAR_NAMES.get((kind, bits), f"{kind}{bits}")
        case Vector(component, count):
            scalar = name_of(component)
            return f"{PREFIXES.get(scalar, scalar.removesuffix('_t').replace('int', 'i'))}vec{count}"
        case Matrix(column, count):
            return f"{PREFIXES.get(name_of(column.component), '')}mat{count}x{column.count}"
        case Array(element, count, _):
            return f"{name_of(element)}[{'' if count is None else count}]"
        case Struct(name, _):
            return name or "struct"
        case Pointer():
            return "a buffer reference"
        case Image(sampled, dimension, _, _, use, format):
            kind = f"{PREFIXES[sampled.kind] if sampled is not None else ''}{'image' if use == 2 else 'sampler'}"
            axes = DIMENSIONS.get(dimension, "")
            return f"`{kind}{axes}` of format `{format}`" if use == 2 else f"`{kind}{axes}`"
    assert isinstance(type, Opaque)
    return type.name


def _descriptor(key: tuple[int | None, int | None]) -> str:
    return f"set {key[0] or 0}, binding {key[1] or 0}"


@dataclass(slots=True)
class Comparison:
    """Compares and records. expected, found: reflections of the generated and the edited source."""

    expected: Reflection
    found: Reflection
    source: ParsedSource
    diagnostics: DiagnosticList
    _seen: set[tuple[int, int]] = field(default_factory=set)

    def of_push_constants(self) -> None:
        """Compare the arguments, and all memory that they point to."""
        expected, found = self.expected.push_constants, self.found.push_constants
        if found is None:
            return
        if expected is None:
            location = self._block_location(found.type)
            self.diagnostics.add(
                location, "the launcher of this kernel passes no arguments", "remove the push constants"
            )
        elif isinstance(expected.type, Struct) and isinstance(found.type, Struct):
            self._block(expected.type, found.type, self._block_location(found.type))

    def of_resources(self) -> None:
        """Compare the resources that descriptors would have to provide."""
        expected = {(variable.set, variable.binding): variable for variable in self.expected.resources}
        found = {(variable.set, variable.binding): variable for variable in self.found.resources}
        moved = {variable.name: key for key, variable in expected.items() if key not in found}
        for key, variable in found.items():
            location = self._resource_location(variable)
            if key not in expected and variable.name in moved:
                wanted = moved.pop(variable.name)
                message = f"descriptor `{variable.name}` is at another binding: expected {_descriptor(wanted)}"
                self.diagnostics.add(
                    location, f"{message}, found {_descriptor(key)}", "declare it as the generated message does"
                )
            elif key not in expected:
                shown = f"`{variable.name}` needs a descriptor ({_descriptor(key)})"
                self.diagnostics.add(
                    location,
                    f"{shown}, but the launcher provides none: memory is passed through `Args`",
                    "remove it; add a new array as a parameter of the kernel in Python",
                )
            elif not self._is_alike(expected[key].type, variable.type):
                expected_name, found_name = name_of(expected[key].type), name_of(variable.type)
                message = (
                    f"descriptor `{variable.name}` is of another type: expected {expected_name}, found {found_name}"
                )
                self.diagnostics.add(location, message, "declare it as the generated message does")
        for name, key in moved.items():
            message = f"the descriptor `{name}` ({_descriptor(key)}) is missing"
            self.diagnostics.add(self.source.find(r"\bbinding\b"), message, "restore its declaration")

    def _is_alike(self, expected: Type, found: Type) -> bool:
        if isinstance(expected, Struct) and isinstance(found, Struct):
            self._block(expected, found, self._block_location(found))
            return True
        return expected == found

    def _block_location(self, type: Type) -> Location | None:
        block = self.source.blocks.get(type.name) if isinstance(type, Struct) else None
        return block.location if block is not None else None

    def _resource_location(self, variable: Variable) -> Location | None:
        block = self.source.find(rf"\bbinding\s*=[^;]*?\b({re.escape(variable.name)})\b") if variable.name else None
        return block or self._block_location(variable.type) or self.source.find(r"\bbinding\b")

    def _block(self, expected: Struct, found: Struct, location: Location | None) -> None:
        """Compare two blocks; if `scalar` is missing, report only that."""
        before = list(self.diagnostics.entries)
        self._struct(expected, found, location)
        self._blame_layout(before, found.name)

    def _blame_layout(self, before: list[Diagnostic], block: str) -> None:
        head = self.source.find(rf"\blayout\s*\(([^()]*)\)[^;{{}}]*\b(?:buffer|uniform)\s+{re.escape(block)}\b")
        if head is None or len(self.diagnostics.entries) == len(before):
            return
        added = self.diagnostics.entries[len(before) :]
        laid_out = [
            diagnostic
            for diagnostic in added
            if "is at another" in diagnostic.message or " bytes" in diagnostic.message
        ]
        line = self.source.line(head.line)[head.column - 1 : head.column - 1 + head.width]
        if laid_out and len(laid_out) == len(added) and not re.search(r"\bscalar\b", line):
            self.diagnostics.entries[:] = before
            self.diagnostics.add(
                head,
                f"`{block}` lost its layout `scalar`, so its members are at other offsets than the host stores them at",
                f"write `layout(scalar, ...)` above `{block}` again",
            )

    def _struct(self, expected: Struct, found: Struct, own: Location | None) -> None:
        """Compare the members of two structs by their names."""
        names, members = [m.name for m in expected.members], {m.name: m for m in found.members}
        order, count = names, len(self.diagnostics.entries)
        shown = found.name or expected.name
        for number, member in enumerate(expected.members):
            if member.name not in members and name_of(member.type) == DIVISOR:  # an edit may divide by itself
                continue
            if member.name not in members:
                instead = self._instead(expected, found, number)
                location = self.source.find_member(shown, instead) if instead is not None else own
                self.diagnostics.add(
                    location or own, *missing_member(shown, member.name, self._declared(self.expected, member), instead)
                )
            else:
                location = self.source.find_member(shown, member.name) or own
                self._member(shown, member, members[member.name], location)
        if len(self.diagnostics.entries) > count:
            return
        is_root = expected is getattr(self.expected.push_constants, "type", None) or expected.name == "Args"
        extra = [m for m in found.members if m.name not in names]
        if extra and (is_root or size_bytes(expected) != size_bytes(found)):
            self.diagnostics.add(
                self.source.find_member(shown, extra[0].name) or own, *extra_member(shown, extra[0].name)
            )
            return
        for member in [member for member in expected.members if member.name in members]:
            here = members[member.name]
            if member.offset_bytes is not None and member.offset_bytes != here.offset_bytes:
                location = self.source.find_member(shown, member.name) or own
                message = moved_member(shown, member.name, member.offset_bytes, here.offset_bytes, order)
                self.diagnostics.add(location, *message)
                return

    def _instead(self, expected: Struct, found: Struct, number: int) -> str | None:
        """Return the member in the position of a missing one, if it is not one of the struct's own."""
        if len(found.members) != len(expected.members):
            return None
        name = found.members[number].name
        return name if all(member.name != name for member in expected.members) else None

    def _declared(self, reflection: Reflection, member: Member) -> str:
        """Return the type of a member as it is declared."""
        if isinstance(member.type, Pointer):
            target = reflection.pointees.get(member.type.target)
            return target.name if isinstance(target, Struct) else "buffer reference"
        return name_of(member.type)

    def _member(self, struct: str, expected: Member, found: Member, location: Location | None) -> None:
        """Compare type and qualifiers of one member."""
        one, other = expected.type, found.type
        if isinstance(one, Pointer) and isinstance(other, Pointer):
            self._pointer(struct, expected, one, other, location)
        elif isinstance(one, Struct) and isinstance(other, Struct):
            self._struct(one, other, self._block_location(other) or location)
        elif isinstance(one, Array) and isinstance(other, Array) and one.count == other.count:
            self._array(struct, expected, one, other, location)
        elif one != other:
            shown = (self._declared(self.expected, expected), self._declared(self.found, found))
            self.diagnostics.add(location, *retyped_member(struct, expected.name, *shown))
        elif (expected.matrix_stride, expected.is_row_major) != (found.matrix_stride, found.is_row_major):
            self.diagnostics.add(location, *_other_matrix(struct, expected, found))
        self._qualifiers(struct, expected, found, location)

    def _qualifiers(
        self,
        struct: str,
        expected: Member,
        found: Member,
        location: Location | None,
        required: Sequence[str] = REQUIRED_QUALIFIERS,
    ) -> None:
        for qualifier in required:
            if qualifier in expected.qualifiers and qualifier not in found.qualifiers:
                message = f"`{struct}` lost its `{qualifier}`: {WHY_REQUIRED[qualifier]}"
                self.diagnostics.add(
                    self._block_name(struct) or location, message, f"write `{qualifier} buffer {struct}` again"
                )

    def _block_name(self, name: str) -> Location | None:
        block = self.source.blocks.get(name)
        return block.location if block is not None else None

    def _pointer(self, struct: str, member: Member, one: Pointer, other: Pointer, location: Location | None) -> None:
        """Compare what two buffer references point to."""
        if (one.target, other.target) in self._seen:
            return
        expected, found = self.expected.pointees.get(one.target), self.found.pointees.get(other.target)
        if not isinstance(expected, Struct) or not isinstance(found, Struct):
            if expected != found:
                shown = (name_of(expected or Opaque("unknown")), name_of(found or Opaque("unknown")))
                self.diagnostics.add(location, *element_type(struct, member.name, *shown, CAST))
            return
        self._seen.add((one.target, other.target))
        before = list(self.diagnostics.entries)
        first, second = _elements(expected), _elements(found)
        if first is None and second is None:
            self._struct(expected, found, self._block_location(found) or location)
        elif first is None or second is None:
            message = element_type(struct, member.name, expected.name, found.name, CAST)
            self.diagnostics.add(location, *message)
        else:
            at = self._block_location(found) if found.name == expected.name else location
            self._elements(struct, member, first, second, at or location)
            self._qualifiers(found.name, expected.members[0], found.members[0], at or location, MEMORY_QUALIFIERS)
        self._blame_layout(before, found.name)
        if (
            len(self.diagnostics.entries) > len(before) and expected.name != found.name
        ):  # others may be wrong in this way
            self._seen.discard((one.target, other.target))

    def _elements(self, struct: str, member: Member, one: Member, other: Member, location: Location | None) -> None:
        """Compare the elements of two runtime-sized arrays."""
        assert isinstance(one.type, Array) and isinstance(other.type, Array)
        expected, found = one.type.element, other.type.element
        count = len(self.diagnostics.entries)
        if isinstance(expected, Struct) and isinstance(found, Struct):
            self._struct(expected, found, self._block_location(found) or location)
        elif expected != found:
            self.diagnostics.add(location, *element_type(struct, member.name, name_of(expected), name_of(found), CAST))
        elif (one.matrix_stride, one.is_row_major) != (other.matrix_stride, other.is_row_major):
            self.diagnostics.add(location, *_other_matrix(member.name, one, other))
        if one.type.stride_bytes != other.type.stride_bytes and len(self.diagnostics.entries) == count:
            message = (
                f"elements of `{member.name}` are {other.type.stride_bytes} bytes apart, "
                f"expected {one.type.stride_bytes}"
            )
            self.diagnostics.add(
                location, message, "the layout is `scalar`, and the struct has the members of the generated one"
            )

    def _array(self, struct: str, member: Member, one: Array, other: Array, location: Location | None) -> None:
        """Compare two arrays of equal length inside a struct."""
        if isinstance(one.element, Struct) and isinstance(other.element, Struct):
            count = len(self.diagnostics.entries)
            self._struct(one.element, other.element, self._block_location(other.element) or location)
            if len(self.diagnostics.entries) > count:
                return
        elif one.element != other.element:
            self.diagnostics.add(location, *retyped_member(struct, member.name, name_of(one), name_of(other)))
            return
        if one.stride_bytes != other.stride_bytes:
            message = f"elements of `{member.name}` are {other.stride_bytes} bytes apart, expected {one.stride_bytes}"
            self.diagnostics.add(location, message, "the layout is `scalar`")


def _elements(block: Struct) -> Member | None:
    """Return the array that is the only member of a buffer reference, None if it has others."""
    if len(block.members) != 1:
        return None
    type = block.members[0].type
    return block.members[0] if isinstance(type, Array) and type.count is None else None


def _other_matrix(name: str, expected: Member, found: Member) -> tuple[str, str]:
    """A matrix that is stored in another order."""
    shown = ["`row_major`" if member.is_row_major else "`column_major`" for member in (expected, found)]
    return (
        f"the matrix `{expected.name or name}` of `{name}` is stored {shown[1]}, expected {shown[0]}"
        if shown[0] != shown[1]
        else f"the matrix `{expected.name or name}` of `{name}` has rows {found.matrix_stride} bytes apart, "
        f"expected {expected.matrix_stride}",
        "write `row_major` into the layout again",
    )
