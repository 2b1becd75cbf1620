"""Three-way merge: the generated source from which an edit was made, the edit, and the source generated now.

Pure: strings in, string out. Two changes of different lines of the base are both applied; two changes of the same line,
or insertions at the same position, conflict unless they are equal. Numbers of Python lines in comments, as in
`// jacobi.py:7` and `// :7`, are no change: they follow the newly generated source if its line is found again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

EDIT_MARK, BASE_MARK, SPLIT_MARK, NEW_MARK = "<<<<<<<", "|||||||", "=======", ">>>>>>>"
_MARKS = re.compile(r"^(?:<{7}|\|{7}|>{7})(?: |$)|^={7}$")
_LOCATION = re.compile(r"(//(?: |.*?[\w.<>-]):)(\d+)\b")
"""A comment up to the number of a Python line: `// jacobi.py:7`, `// :7`."""
_CELL = re.compile(r"(// |, )(?:\d+\.py|<[^>\n]*>):0")
"""A comment up to the name of a notebook's cell, another in each session: `// 3521.py`, `, <ipython-input-3>`."""
_TITLE = re.compile(r"^// shadesmith [^\s,]+, (\w+) [0-9a-f]{8}\b", re.MULTILINE)
"""The version and the key at the top of a source, which are no part of what it computes."""

Lines = Sequence[str]


@dataclass(frozen=True, slots=True)
class Merged:
    """text: with markers around each conflict. conflicts: how many. user_lines: of the edit, not in the base."""

    text: str
    conflicts: int
    user_lines: int


@dataclass(frozen=True, slots=True)
class _Change:
    """Lines [begin, end) of the base become `lines`."""

    begin: int
    end: int
    lines: tuple[str, ...]


def same_source(one: str, other: str) -> bool:
    """Return whether two generated sources differ only in numbers of Python lines."""
    return one == other or unnumbered(one) == unnumbered(other)


def has_markers(text: str) -> bool:
    """Return whether a source has markers of a conflict."""
    return any(_MARKS.match(line) for line in text.splitlines())


def merge(base: str, edit: str, new: str, names: tuple[str, str, str] = ("edit", "base", "generated")) -> Merged:
    """Return `edit` with what changed from `base` to `new`. names: for the markers of a conflict."""
    plain = [unnumbered(text).splitlines() for text in (base, edit, new)]
    user, generated = (_changes(plain[0], lines) for lines in plain[1:])
    lines: list[str] = []
    conflicts = position = 0
    for group in _groups(user, generated):
        begin = min(change.begin for side in group for change in side)
        end = max(change.end for side in group for change in side)
        lines += plain[0][position:begin]
        position = end
        sides = [_applied(plain[0], side, begin, end) for side in group]
        unchanged = plain[0][begin:end]
        if sides[0] == sides[1] or not group[1]:
            lines += sides[0]
        elif not group[0]:
            lines += sides[1]
        else:
            conflicts += 1
            lines += _conflict(sides[0], unchanged, sides[1], names)
    lines += plain[0][position:]
    user_lines = sum(len(change.lines) for change in user)
    return Merged(_numbered(lines, new, edit), conflicts, user_lines)


def carried_lines(text: str, lines: tuple[tuple[int, str, int], ...], edited: str) -> tuple[tuple[int, str, int], ...]:
    """Return the line map of a generated source (as in `SourceFile.lines`) for an edit of it.

    Lines that replace others have their locations, in order.
    """
    one, other = unnumbered(text).splitlines(), unnumbered(edited).splitlines()
    codes = SequenceMatcher(None, one, other, autojunk=False).get_opcodes()
    moved = {i1 + k: j1 + k for _, i1, i2, j1, j2 in codes for k in range(min(i2 - i1, j2 - j1))}
    return tuple((moved[line - 1] + 1, file, number) for line, file, number in lines if line - 1 in moved)


def unnumbered(text: str) -> str:
    """Return a source without what may change while its code does not: 0 for the numbers of Python lines in comments,
    one name for all cells of notebooks, and no version and key at the top.
    """
    text = _TITLE.sub(r"// shadesmith, \1", text)
    return _CELL.sub(r"\g<1><cell>:0", _LOCATION.sub(r"\g<1>0", text))


def _numbered(lines: Lines, new: str, edit: str) -> str:
    """Give each comment the number of its line in the new source, else the one in the edit."""
    result = list(lines)
    for source in (edit, new):
        numbered = source.splitlines()
        for here, there in _pairs(lines, unnumbered(source).splitlines()):
            result[here] = numbered[there]
    return "".join(f"{line}\n" for line in result)


def _pairs(one: Lines, other: Lines) -> Iterator[tuple[int, int]]:
    """Yield (line of `one`, line of `other`) for the lines that correspond, from 0."""
    for block in SequenceMatcher(None, one, other, autojunk=False).get_matching_blocks():
        yield from ((block.a + k, block.b + k) for k in range(block.size))


def _changes(base: Lines, text: Lines) -> list[_Change]:
    codes = SequenceMatcher(None, base, text, autojunk=False).get_opcodes()
    return [_Change(i1, i2, tuple(text[j1:j2])) for tag, i1, i2, j1, j2 in codes if tag != "equal"]


def _groups(user: list[_Change], generated: list[_Change]) -> Iterator[tuple[list[_Change], list[_Change]]]:
    """Yield the changes in order; those of both sides that change the same lines form one group."""
    waiting: tuple[list[_Change], list[_Change]] = (list(user), list(generated))
    while waiting[0] or waiting[1]:
        group: tuple[list[_Change], list[_Change]] = ([], [])
        side = 0 if not waiting[1] or (waiting[0] and _order(waiting[0][0]) <= _order(waiting[1][0])) else 1
        group[side].append(waiting[side].pop(0))
        grown = True
        while grown:
            grown = False
            for side in (0, 1):
                if waiting[side] and any(_clash(waiting[side][0], change) for change in group[1 - side]):
                    group[side].append(waiting[side].pop(0))
                    grown = True
        yield group


def _order(change: _Change) -> tuple[int, int]:
    return change.begin, change.end


def _clash(one: _Change, other: _Change) -> bool:
    """Return whether two changes of different sides cannot be applied independently.

    Lines inserted before or after lines that the other side changes are independent of them.
    """
    if one.begin == one.end and other.begin == other.end:
        return one.begin == other.begin
    return one.begin < other.end and other.begin < one.end


def _applied(base: Lines, changes: list[_Change], begin: int, end: int) -> list[str]:
    """Return lines [begin, end) of the base with changes applied."""
    lines: list[str] = []
    for change in changes:
        lines += [*base[begin : change.begin], *change.lines]
        begin = change.end
    return lines + list(base[begin:end])


def _conflict(edit: Lines, base: Lines, new: Lines, names: tuple[str, str, str]) -> list[str]:
    return [
        f"{EDIT_MARK} {names[0]}", *edit, f"{BASE_MARK} {names[1]}", *base, SPLIT_MARK, *new, f"{NEW_MARK} {names[2]}",
    ]  # fmt: skip
