"""What a pass changed: two forms of a kernel's IR as one list of lines, kept, gone and new.

The text of the IR numbers its values from 0 in each form, so that one removed line renumbers all below it. Here lines
are matched without their numbers first, and a matched line counts as kept if its operands are the same values.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import groupby

UNCHANGED, GONE, NEW = " ", "-", "+"
SKIPPED = "@"
"""Sign of a line that replaces unchanged lines: `@12 lines as before`, `@3 lines as before, 2 further in`."""
CONTEXT = 3
"""Unchanged lines that are shown around changed ones."""
_VALUE = re.compile(r"\$(\d+)")
_DEFINITION = re.compile(r"\s*\$(\d+)\b.* = ")


@dataclass(frozen=True, slots=True)
class ChangedLine:
    """sign: `UNCHANGED`, `GONE` or `NEW`. line: number in the form after the pass, of a gone line in the form before.

    moved: the number of columns by which an unchanged line is indented more than before.
    """

    sign: str
    text: str
    line: int
    moved: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """All lines of two forms. numbers: of the values that both have, by their number in the form before."""

    lines: tuple[ChangedLine, ...]
    numbers: dict[int, int]

    @property
    def is_empty(self) -> bool:
        """Whether both forms are equal but for the numbers of values."""
        return all(line.sign == UNCHANGED for line in self.lines)


def changes(before: str, after: str) -> Change:
    """Return all lines of both forms in order, a gone one before the new one in its place.

        $0: i32 = const 1          $0: i32 = const 1              $0: i32 = const 1
        $1: i32 = const 1    ->    $1: i32 = add $0, $0    :    - $1': i32 = const 1
        $2: i32 = add $0, $1                                    - $1: i32 = add $0, $1'
                                                                + $1: i32 = add $0, $0

    Values have the numbers they have after the pass; one that is gone has its old number and a prime.
    """
    old, new = before.split("\n"), after.split("\n")
    numbers: dict[str, str] = {}
    found: list[ChangedLine] = []
    for tag, first, last, start, end in _stretches(old, new):
        if tag == "equal":
            pairs = zip(old[first:last], new[start:end])
            for offset, (line_old, line_new) in enumerate(pairs):
                _same_value(line_old, line_new, numbers)
                renamed = _renumbered(line_old, numbers)
                if renamed.strip() == line_new.strip():  # it may have moved in or out of a block
                    moved = _indentation(line_new) - _indentation(line_old)
                    found.append(ChangedLine(UNCHANGED, line_new, start + offset + 1, moved))
                else:
                    found.append(ChangedLine(GONE, renamed, first + offset + 1))
                    found.append(ChangedLine(NEW, line_new, start + offset + 1))
        else:
            found += [ChangedLine(GONE, _renumbered(old[i], numbers), i + 1) for i in range(first, last)]
            found += [ChangedLine(NEW, new[i], i + 1) for i in range(start, end)]
    return Change(tuple(found), {int(old_number): int(number) for old_number, number in numbers.items()})


def hunks(change: Change, is_shown: Callable[[ChangedLine], bool]) -> list[ChangedLine]:
    """Return the changed lines with `CONTEXT` unchanged ones around; one `SKIPPED` line replaces those between.

    With the form before, this and `Change.numbers` give the form after. is_shown: of an unchanged line.
    """
    lines = change.lines
    near: set[int] = set()
    for number, line in enumerate(change.lines):
        if line.sign != UNCHANGED:
            near.update(range(number - CONTEXT, number + CONTEXT + 1))
    found: list[ChangedLine] = []
    for moved, run in groupby(enumerate(lines), lambda entry: None if entry[0] in near else entry[1].moved):
        if moved is None:
            found += [line for _, line in run]
            continue
        for shown, part in groupby((line for _, line in run), is_shown):
            stretch = list(part)
            if shown or len(stretch) == 1:
                found += stretch
            else:
                further = f", {moved} further in" if moved else ""
                found.append(ChangedLine(SKIPPED, f"{len(stretch)} lines as before{further}", stretch[0].line))
    return found


def _indentation(line: str) -> int:
    return len(line) - len(line.lstrip())


def _stretches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[str, int, int, int, int]]:
    """Yield the opcodes that lead from one text to the other, both without numbers of values and indentation."""
    plain_old = [_VALUE.sub("$", line.strip()) for line in old]
    plain_new = [_VALUE.sub("$", line.strip()) for line in new]
    yield from SequenceMatcher(None, plain_old, plain_new, autojunk=False).get_opcodes()


def _same_value(old: str, new: str, numbers: dict[str, str]) -> None:
    """Note that the values which two lines define are the same."""
    here, there = _DEFINITION.match(old), _DEFINITION.match(new)
    if here and there:
        numbers[here[1]] = there[1]


def _renumbered(line: str, numbers: dict[str, str]) -> str:
    return _VALUE.sub(lambda value: f"${numbers[value[1]]}" if value[1] in numbers else f"{value[0]}'", line)
