"""Find structs, members, macros and functions in an edited source, without compiling it.

In: GLSL, CUDA C or C, correct or broken. Out: lines and columns, and the members of structs as far as they can be read.
No check depends on this alone: compilers decide whether a source is right, this module finds where it is wrong.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field

NOISE = re.compile(r'//(?:\\\n|[^\n])*|/\*.*?(?:\*/|\Z)|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_BLOCK = re.compile(r"\b(struct|union|uniform|buffer)\b((?:[^;{}()]|\([^()]*\))*)\{")
_NAME = re.compile(r"[A-Za-z_]\w*")
_DECLARATOR = re.compile(r"([A-Za-z_]\w*)\s*((?:\[[^\[\]]*\]\s*)*)\Z")
_AFTER = re.compile(r"\s*(?:__attribute__\s*\(\([^;{}]*\)\)\s*)*([A-Za-z_]\w*)\s*(?:__attribute__[^;{}]*)?;")
_BUILT_IN_VECTOR = re.compile(r"\busing\s+(\w+)\s*=\s*(float|double|int|uint)([2-4])\s*;")
"""A name for a struct of CUDA C with the members `x`, `y`, ..."""
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:line\b|\d)[^\n]*", re.MULTILINE)
_QUALIFIERS = frozenset(
    {
        "const", "volatile", "restrict", "__restrict__", "__restrict", "struct", "precise", "readonly", "writeonly",
        "coherent", "highp", "mediump", "lowp",
    }
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Location:
    """A piece of one line: line and column from 1, width in characters."""

    line: int
    column: int
    width: int = 1


@dataclass(frozen=True, slots=True)
class DeclaredMember:
    """One member as declared. type: without qualifiers and stars. is_const: what it is, or points to, is const."""

    name: str
    type: str
    location: Location
    stars: int = 0
    is_const: bool = False
    extents: tuple[str, ...] = ()

    def __str__(self) -> str:
        const, stars = "const " if self.is_const else "", f" {'*' * self.stars}" if self.stars else ""
        return f"{const}{self.type}{stars}{''.join(f'[{extent}]' for extent in self.extents)}"


@dataclass(frozen=True, slots=True)
class Block:
    """A struct or a block of GLSL. members: None if it contains functions or anything else than members.

    kind: "struct", "union", "uniform" or "buffer". location: of its name.
    """

    name: str
    kind: str
    location: Location
    members: tuple[DeclaredMember, ...] | None

    def member(self, name: str) -> DeclaredMember | None:
        """Return a member by its name."""
        return next((member for member in self.members or () if member.name == name), None)


@dataclass(slots=True)
class ParsedSource:
    """A source to look things up in. code: the same with blanks in place of comments and literals."""

    text: str
    code: str = field(init=False)
    blocks: dict[str, Block] = field(init=False)
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self.code = NOISE.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), self.text)
        self._starts = [0, *(match.end() for match in re.finditer("\n", self.text))]
        self.blocks = {}
        for block in self._read_blocks():
            self.blocks.setdefault(block.name, block)

    def line(self, number: int) -> str:
        """Return line `number` (from 1), "" if there is none."""
        lines = self.text.split("\n")
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def locate(self, start: int, end: int | None = None) -> Location:
        """Return the location of a range of characters."""
        number = bisect_right(self._starts, start)
        column = start - self._starts[number - 1] + 1
        return Location(number, column, max(1, (start + 1 if end is None else end) - start))

    def find(self, pattern: str, line: int = 0) -> Location | None:
        """Return the first match of a regular expression outside comments; its first group if it has one.

        line: search only there.
        """
        start = self._starts[line - 1] if 0 < line <= len(self._starts) else 0
        end = self._starts[line] if 0 < line < len(self._starts) else len(self.code)
        match = re.compile(pattern, re.MULTILINE).search(self.code, start, end)
        return self.locate(*match.span(match.lastindex or 0)) if match else None

    def find_name(self, name: str, line: int = 0) -> Location | None:
        """Return the first location of a name."""
        return self.find(rf"(?<!\w){re.escape(name)}(?!\w)", line)

    def find_macro(self, name: str) -> Location | None:
        """Return where a macro or constant is defined."""
        return self.find(rf"^[ \t]*#[ \t]*define[ \t]+({re.escape(name)})\b") or self.find(
            rf"\bconst(?:expr)?\b[^;=(]*?\b({re.escape(name)})\s*="
        )

    def find_conditional(self, name: str) -> Location | None:
        """Return a definition of a macro or constant between `#if` and `#endif`, but for one in `#ifndef` of itself."""
        pattern = rf"^[ \t]*#[ \t]*(?:(if\w*)\b[ \t]*([^\n]*)|(endif)\b|define[ \t]+({re.escape(name)})\b)"
        pattern += rf"|\bconst(?:expr)?\b[^;=(]*?\b({re.escape(name)})\s*="
        opened: list[str] = []
        for match in re.finditer(pattern, self.code, re.MULTILINE):
            if match[1]:
                opened.append(f"{match[1]} {match[2].strip()}")
            elif match[3]:
                opened = opened[:-1]
            elif opened and opened != [f"ifndef {name}"]:
                return self.locate(*match.span(4 if match[4] else 5))
        return None

    def accessors(self) -> dict[str, str]:
        """Return which member of `args` each macro on it accesses, by the macro's name."""
        found = re.findall(
            r"^[ \t]*#[ \t]*define[ \t]+(\w+)\([^)\n]*\)[^\n]*?\bargs\s*(?:\.|->)\s*(\w+)", self.code, re.MULTILINE
        )
        return dict(reversed(found))

    def find_member(self, block: str, member: str) -> Location | None:
        """Return where a member is declared, else the block it should be in."""
        found = self.blocks.get(block)
        if found is None:
            return None
        declared = found.member(member)
        return declared.location if declared is not None else found.location

    def _read_blocks(self) -> list[Block]:
        found = []
        for match in _BLOCK.finditer(self.code):
            end = _closing(self.code, match.end())
            names = [name for name in _NAME.finditer(self.code, match.start(2), match.end(2)) if _is_name(name[0])]
            after = _AFTER.match(self.code, end + 1)
            is_typedef = bool(re.search(r"\btypedef\s*\Z", self.code[: match.start()]))
            name = after if after is not None and is_typedef else names[-1] if names else after
            if name is not None:
                start, stop = name.span(1) if name is after else name.span()
                members = self._members(match.end(), end)
                found.append(Block(self.code[start:stop], match[1], self.locate(start, stop), members))
        for match in _BUILT_IN_VECTOR.finditer(self.code):
            vector, element, size = match.groups()
            element = "unsigned" if element == "uint" else element
            location = self.locate(*match.span(1))
            members = tuple(DeclaredMember(member, element, location) for member in "xyzw"[: int(size)])
            found.append(Block(vector, "struct", location, members))
        return found

    def _members(self, start: int, end: int) -> tuple[DeclaredMember, ...] | None:
        body = self.code[start:end]
        if "{" in body or re.search(r"\w\s*\((?!\()", re.sub(r"\b(?:layout|alignas|__align__)\s*\([^)]*\)", "", body)):
            return None
        members: list[DeclaredMember] = []
        position = start
        for piece in body.split(";"):
            if re.sub(r"\b(?:layout|alignas|__align__)\s*\([^)]*\)|\[[^\[\]]*\]|[\w\s*,]", "", piece):
                return None
            members += self._declared(piece, position)
            position += len(piece) + 1
        return tuple(members)

    def _declared(self, piece: str, start: int) -> list[DeclaredMember]:
        """Read one declaration: `const float *a, *b[3]`."""
        found: list[DeclaredMember] = []
        base, is_const, position = "", False, start
        for number, part in enumerate(piece.split(",")):
            match = _DECLARATOR.search(part.rstrip())
            if match is not None:
                before = re.sub(r"\b(?:layout|alignas|__align__)\s*\([^)]*\)", "", part[: match.start()])
                if number == 0:
                    words = _NAME.findall(before)
                    is_const = "const" in words and "const" in _NAME.findall(before.partition("*")[0])
                    base = " ".join(word for word in words if word not in _QUALIFIERS)
                extents = tuple(extent.strip() for extent in re.findall(r"\[([^\[\]]*)\]", match[2]))
                location = self.locate(position + match.start(1), position + match.end(1))
                if base:
                    found.append(DeclaredMember(match[1], base, location, before.count("*"), is_const, extents))
            position += len(part) + 1
        return found


def without_line_directives(source: str) -> str:
    """Return the source without `#line`, so that a compiler reports its own line numbers."""
    return _DIRECTIVE.sub("", source)


def _closing(code: str, start: int) -> int:
    """Return where the brace is closed that was opened before `start`, the end of the code if it is not."""
    depth = 1
    for match in re.compile(r"[{}]").finditer(code, start):
        depth += 1 if match[0] == "{" else -1
        if depth == 0:
            return match.start()
    return len(code)


def _is_name(word: str) -> bool:
    return word not in _QUALIFIERS and word not in ("alignas", "__align__", "__attribute__", "packed")
