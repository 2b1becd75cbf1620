"""Lines of C or CUDA C that a compiler refuses if an edited source has another interface than the generated one.

In: the declarations of the generated source, and the module's `Interface`. Out: lines to append to the edited source,
each with the mistake that its failure means. Only the compiler knows types and offsets, so the lines use `sizeof`,
`offsetof`, and whether a type has a sign or fractions. Names of types do not matter, those of members do.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ....transpiler.backend.module.divisors import DIVISOR
from ....transpiler.backend.module.interface import BackendModule
from .compare_declarations import instead_of
from .diagnostics import (
    dropped_const,
    element_type,
    extra_member,
    missing_member,
    missing_struct,
    moved_member,
    retyped_member,
    wrong_size,
)
from .parsed_source import Block, DeclaredMember, Location, ParsedSource

POINTER_BYTES = 8
MAX_DEPTH = 8
"""Structs in structs; what the compiler emits has three at most."""

SCALARS: dict[str, tuple[int, bool, bool]] = {
    "bool": (1, False, True), "_Bool": (1, False, True),
    "char": (1, True, False), "signed char": (1, True, False), "int8_t": (1, True, False),
    "unsigned char": (1, False, False), "uint8_t": (1, False, False),
    "short": (2, True, False), "int16_t": (2, True, False),
    "unsigned short": (2, False, False), "uint16_t": (2, False, False),
    "int": (4, True, False), "int32_t": (4, True, False),
    "unsigned": (4, False, False), "unsigned int": (4, False, False), "uint32_t": (4, False, False),
    "long": (8, True, False), "long long": (8, True, False), "int64_t": (8, True, False),
    "unsigned long": (8, False, False), "unsigned long long": (8, False, False), "uint64_t": (8, False, False),
    "_Float16": (2, True, True), "float": (4, True, True), "double": (8, True, True),
}  # fmt: skip
"""By name: size [bytes], whether it has negative values, whether 0.5 is not 0 in it."""
OPAQUE = {"half": 2}
"""Types that are structs with functions, by size [bytes]."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """code: one line. failure: (message, hint) if the compiler refuses it. needs: lines that must compile before.

    struct, kind: what it is about, since one mistake in a struct moves later members too.
    """

    code: str
    location: Location | None = None
    failure: tuple[str, str] | None = None
    needs: tuple[int, ...] = ()
    struct: str = ""
    kind: str = ""


@dataclass(slots=True)
class Language:
    """What differs between C and CUDA C. cast: how to read memory as another type, for hints."""

    args: str
    assertion: str
    deduced: str
    is_const: str
    cast: str

    def check(self, condition: str) -> str:
        """Return the line that asserts a constant condition."""
        return f'{self.assertion}({condition}, "");'


C = Language(
    "struct Args",
    "_Static_assert",
    "__typeof__({})",
    "__builtin_types_compatible_p(__typeof__({0}), const __typeof__(*{0}) *)",
    "a cast where they are used: `((const float4 *)args.x_data)[i]`",
)
CUDA = Language(
    "Args",
    "static_assert",
    "shadesmith_bare<decltype({})>::type",
    "shadesmith_const<decltype({0})>::value",
    "a cast where they are used: `((const float4 *)args.x_data)[i]`",
)
CUDA_TEMPLATES = """
template <class shadesmith_A> struct shadesmith_bare { typedef shadesmith_A type; };
template <class shadesmith_A> struct shadesmith_bare<shadesmith_A &> : shadesmith_bare<shadesmith_A> {};
template <class shadesmith_A> struct shadesmith_bare<const shadesmith_A> : shadesmith_bare<shadesmith_A> {};
template <class shadesmith_A> struct shadesmith_bare<volatile shadesmith_A> : shadesmith_bare<shadesmith_A> {};
template <class shadesmith_A> struct shadesmith_bare<const volatile shadesmith_A> : shadesmith_bare<shadesmith_A> {};
template <class shadesmith_A> struct shadesmith_const { static const bool value = false; };
template <class shadesmith_A> struct shadesmith_const<shadesmith_A &> : shadesmith_const<shadesmith_A> {};
template <class shadesmith_A> struct shadesmith_const<const shadesmith_A *> { static const bool value = true; };
template <class shadesmith_A> struct shadesmith_const<shadesmith_A *__restrict__> : shadesmith_const<shadesmith_A *> {};
template <class shadesmith_A, class shadesmith_B> struct shadesmith_same { static const bool value = false; };
template <class shadesmith_A> struct shadesmith_same<shadesmith_A, shadesmith_A> { static const bool value = true; };
"""


@dataclass(slots=True)
class Layout:
    """Sizes and offsets by the rules of C [bytes], of the structs that a source declares."""

    blocks: Mapping[str, Block]

    def size(self, member: DeclaredMember) -> int | None:
        """Return a member's size, None if it does not follow from the source."""
        count = 1
        for extent in member.extents:
            if not extent.isdigit():
                return 0 if extent == "" else None
            count *= int(extent)
        single = POINTER_BYTES if member.stars else self._of_type(member.type)[0]
        return None if single is None else count * single

    def of_struct(self, name: str, depth: int = 0) -> tuple[int | None, int, dict[str, int]]:
        """Return size, alignment and offsets of a struct; size None if it is unknown."""
        block = self.blocks.get(name)
        if block is None or block.members is None or depth > MAX_DEPTH:
            return None, 1, {}
        offsets: dict[str, int] = {}
        end, alignment = 0, 1
        for member in block.members:
            size = self.size(member)
            own = POINTER_BYTES if member.stars else self._of_type(member.type, depth)[1]
            if size is None:
                return None, 1, {}
            offsets[member.name] = -(-end // own) * own
            end, alignment = offsets[member.name] + size, max(alignment, own)
        return -(-end // alignment) * alignment, alignment, offsets

    def _of_type(self, name: str, depth: int = 0) -> tuple[int | None, int]:
        if name in SCALARS:
            return SCALARS[name][0], SCALARS[name][0]
        if name in OPAQUE:
            return OPAQUE[name], OPAQUE[name]
        size, alignment, _ = self.of_struct(name, depth + 1)
        return size, alignment


@dataclass(slots=True)
class Assertions:
    """Collects the lines for one source. args: the lines that check that `Args` exists.

    has_offsetof: the compiler has `__builtin_offsetof`; else offsets follow from the source, by the rules of C, and the
    compiler checks only sizes.
    """

    language: Language
    generated: ParsedSource
    edited: ParsedSource
    lines: list[Assertion] = field(default_factory=list)
    _expected: Layout = field(init=False)
    _found: Layout = field(init=False)
    args: tuple[int, ...] = ()
    has_offsetof: bool = True
    _types: int = 0
    _seen: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._expected, self._found = Layout(self.generated.blocks), Layout(self.edited.blocks)

    def of_args(self, module: BackendModule) -> None:
        """Assert everything that can be reached from `Args`."""
        block = self.generated.blocks.get("Args")
        if block is None or block.members is None or not block.members:
            return
        other = next((b for name, b in self.edited.blocks.items() if name not in self.generated.blocks), None)
        found = self.edited.blocks.get("Args", other)
        location = found.location if found is not None else None
        exists = self._add(self.language.check(f"sizeof({self.language.args}) > 0"), location, missing_struct("Args"))
        exists = self._add(f"typedef {self.language.args} shadesmith_Args;", location, missing_struct("Args"), exists)
        self.args = exists
        offsets = {member.name.partition("[")[0]: member.offset_bytes for member in reversed(module.interface.members)}
        self._struct("shadesmith_Args", "Args", "Args", exists, offsets, module.interface.args_size_bytes, 0)

    def _extra_members(self, block: Block, found: Block | None, grown: str, needs: tuple[int, ...]) -> None:
        """Assert that a struct has no other members. grown: the line that fails if the struct has become larger.

        In `Args` a member in the padding is wrong too, though it moves no other: the host does not set it.
        """
        for member in found.members or () if found is not None else ():
            if found is not None and block.member(member.name) is None and not self._is_renamed(block, found, member):
                code = self.language.check("0") if block.name == "Args" else grown
                message = extra_member(found.name, member.name)
                self._add(code, member.location, message, needs, found.name, "extra")

    def _is_renamed(self, block: Block, found: Block | None, member: DeclaredMember) -> bool:
        return any(instead_of(block, found, gone.name) is member for gone in block.members or ())

    def _add(
        self,
        code: str,
        location: Location | None = None,
        failure: tuple[str, str] | None = None,
        needs: tuple[int, ...] = (),
        struct: str = "",
        kind: str = "",
    ) -> tuple[int, ...]:
        """Add a line; return its `needs` for lines that depend on it."""
        self.lines.append(Assertion(code, location, failure, needs, struct, kind))
        return (*needs, len(self.lines) - 1)

    def _struct(
        self,
        type: str,
        name: str,
        shown: str,
        needs: tuple[int, ...],
        offsets: Mapping[str, int],
        size: int | None,
        depth: int,
    ) -> None:
        """Assert the members of a struct. type: its name in the lines; name: in the generated source; shown: edited."""
        block = self.generated.blocks[name]
        found = self.edited.blocks.get(shown)
        own = self.edited.blocks[shown].location if found is not None else None
        order = [member.name for member in block.members or ()]
        found_size, _, found_offsets = self._found.of_struct(shown)
        for member in block.members or ():
            self._add(f"#undef {member.name}")  # a macro of this name would replace it
            declared = found.member(member.name) if found is not None else None
            if found is not None and declared is None and member.type == DIVISOR:  # an edit may divide by itself
                size = found_size
                continue
            location = declared.location if declared is not None else own
            instead = instead_of(block, found, member.name)
            if instead is not None:
                location = instead.location
            value = f"(({type} *)0)->{member.name}"
            first = "[0]" if "" in member.extents else ""  # a flexible array has no size
            gone = missing_member(shown, member.name, str(member), instead.name if instead else None)
            exists = self._add(
                self.language.check(f"sizeof({value}{first}) > 0"), location, gone, needs, shown, "missing"
            )
            self._member(value, member, declared, location, shown, exists, depth)
            if member.name in offsets:
                message = moved_member(shown, member.name, offsets[member.name], found_offsets.get(member.name), order)
                condition = f"__builtin_offsetof({type}, {member.name}) == {offsets[member.name]}"
                if not self.has_offsetof:
                    moved = found_offsets.get(member.name, offsets[member.name]) != offsets[member.name]
                    condition = "0" if moved else "1"
                self._add(self.language.check(condition), location, message, exists, shown, "moved")
        if size is not None:
            self._extra_members(block, found, self.language.check(f"sizeof({type}) == {size}"), needs)
            message = wrong_size(shown, size, found_size if found_size != size else None)
            self._add(self.language.check(f"sizeof({type}) == {size}"), own, message, needs, shown, "size")

    def _member(
        self,
        value: str,
        member: DeclaredMember,
        declared: DeclaredMember | None,
        location: Location | None,
        struct: str,
        needs: tuple[int, ...],
        depth: int,
    ) -> None:
        """Assert the type of one member."""
        found = str(declared) if declared is not None else None
        retyped = retyped_member(struct, member.name, str(member), found)
        element = value
        size = self._expected.size(member)
        for _ in member.extents:
            element = f"{element}[0]"
        if size and not member.stars:
            single = self._expected.size(replace(member, extents=())) or 1
            condition = f"sizeof({value}) / sizeof({element}) == {size // single}"
            needs = self._add(self.language.check(condition), location, retyped, needs, struct, "type")
        if member.stars:
            needs = self._add(
                self.language.check(f"sizeof({value}) == {POINTER_BYTES} && sizeof(*{value}) > 0"),
                location, retyped, needs, struct, "type",
            )  # fmt: skip
            if member.is_const:
                message = dropped_const(struct, member.name, str(member))
                condition = self.language.is_const.format(value)
                self._add(self.language.check(condition), location, message, needs, struct, "const")
            kind = element_type(
                struct, member.name, member.type, declared.type if declared else None, self.language.cast
            )
            element = f"*{value}"
        else:
            kind = retyped
        self._element(element, member, declared, location, (struct, kind), needs, depth)

    def _element(
        self,
        value: str,
        member: DeclaredMember,
        declared: DeclaredMember | None,
        location: Location | None,
        wrong: tuple[str, tuple[str, str]],
        needs: tuple[int, ...],
        depth: int,
    ) -> None:
        """Assert the type of a member's elements. wrong: its struct, and the message if the type is another one."""
        struct, failure = wrong
        type = f"shadesmith_{self._types}"
        self._types += 1
        named = self._add(
            f"typedef {self.language.deduced.format(value)} {type};", location, failure, needs, struct, "type"
        )
        if member.type in SCALARS:
            size, has_sign, has_fractions = SCALARS[member.type]
            condition = f"sizeof({type}) == {size} && (({type})-1 < 0) == {has_sign:d} && (({type})0.5 != 0) == "
            self._add(self.language.check(f"{condition}{has_fractions:d}"), location, failure, named, struct, "type")
        elif member.type in OPAQUE:
            condition = f"sizeof({type}) == {OPAQUE[member.type]}"
            self._add(self.language.check(condition), location, failure, named, struct, "type")
        elif declared is not None and self._is_another(member.type, declared.type):
            self._add(self.language.check("0"), location, failure, needs, struct, "type")
        elif member.type in self.generated.blocks and depth < MAX_DEPTH:
            shown = declared.type if declared is not None else member.type
            if self._seen.get(member.type) == shown:
                return
            self._seen[member.type] = shown
            expected, _, offsets = self._expected.of_struct(member.type)
            self._struct(type, member.type, shown, named, offsets, expected, depth + 1)

    def _is_another(self, expected: str, found: str) -> bool:
        """Return whether a type cannot be the struct renamed: it is a scalar, or another struct of the kernel."""
        return found in SCALARS or (found != expected and found in self.generated.blocks)


def failures(lines: list[Assertion], failed: set[int], edited: Mapping[str, Block]) -> list[Assertion]:
    """Return the lines that failed for a reason of their own. failed: numbers of all that failed.

    Members after a missing one, after one of another type, or after a struct that has become larger are only moved by
    that.
    """
    own = [lines[k] for k in sorted(failed) if not failed.intersection(lines[k].needs) and lines[k].failure]
    causes = _holders({line.struct for line in own if line.kind in ("missing", "type", "extra")}, edited)
    own = [line for line in own if line.kind not in ("moved", "size") or line.struct not in causes]
    disordered = {line.struct for line in own if line.kind == "moved"}
    larger = _holders({line.struct for line in own if line.kind in ("moved", "size")}, edited, itself=False)
    found: dict[tuple[object, ...], Assertion] = {}
    for line in own:
        if line.kind == "size" and line.struct in disordered | larger or line.kind == "moved" and line.struct in larger:
            continue
        of_struct = line.kind in ("moved", "size")  # the first one is enough
        found.setdefault((line.kind, line.struct, None if of_struct else (line.location, line.failure)), line)
    return list(found.values())


def _holders(names: set[str], blocks: Mapping[str, Block], itself: bool = True) -> set[str]:
    """Return the structs that hold one of `names` by value, directly or in another."""
    found, size = set(names), -1
    while len(found) != size:
        size = len(found)
        for block in blocks.values():
            if any(member.type in found and not member.stars for member in block.members or ()):
                found.add(block.name)
    return found if itself else found - names
