"""What is wrong with an edited source, in words that a person can act on.

Each diagnostic has a location in the user's file, what was expected and found, and a remedy. All three languages share
these functions, so that the same mistake has the same message in each.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ....transpiler.errors import window
from .edit_error import EditError
from .parsed_source import Location, ParsedSource

MAX_SHOWN = 8
"""Diagnostics in one message; more are mostly consequences of the first."""


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing that is wrong. location: None if no line is to blame; it is shown at the top of the file then."""

    location: Location | None
    message: str
    hint: str = ""


@dataclass(slots=True)
class DiagnosticList:
    """The diagnostics of one file. path: of the user's file."""

    path: Path
    source: ParsedSource
    entries: list[Diagnostic]

    def add(self, location: Location | None, message: str, hint: str = "") -> None:
        """Add a diagnostic, unless the list has it already."""
        diagnostic = Diagnostic(location, message, hint)
        if diagnostic not in self.entries:
            self.entries.append(diagnostic)

    def shown(self) -> list[str]:
        """Return the diagnostics as they are printed, in the order of their lines."""
        ordered = sorted(self.entries, key=lambda diagnostic: diagnostic.location.line if diagnostic.location else 0)
        return [self._show(diagnostic) for diagnostic in ordered]

    def _show(self, diagnostic: Diagnostic) -> str:
        location = diagnostic.location or Location(1, 1)
        line = self.source.line(location.line).rstrip().expandtabs(1)
        parts = [f"{self.path}:{location.line}: {diagnostic.message}"]
        if line and diagnostic.location is not None:
            start = min(location.column, len(line) + 1)
            width = max(1, min(location.width, len(line) - start + 1))
            gutter = f"{location.line:6} | "
            line, marks = window(line, start - 1, "^" * width)
            parts += [f"{gutter}{line}", f"{' ' * (len(gutter) - 2)}| {marks}"]
        if diagnostic.hint:
            parts.append(f"  Hint: {diagnostic.hint}")
        return "\n".join(parts)


def refuse(lists: Iterable[DiagnosticList]) -> None:
    """Raise EditError with all diagnostics, if there are any."""
    shown = [message for diagnostics in lists for message in diagnostics.shown()]
    if not shown:
        return
    more = len(shown) - MAX_SHOWN
    if more > 0:
        shown = [*shown[:MAX_SHOWN], f"... and {more} more {'mistake' if more == 1 else 'mistakes'}"]
    raise EditError("\n".join(shown))


def missing_struct(name: str) -> tuple[str, str]:
    """The whole struct is missing or renamed."""
    return (
        f"the struct `{name}` is missing, in which the launcher passes the arguments",
        f"restore `{name}` from the generated source, under this name",
    )


def missing_member(struct: str, name: str, declared: str, extra: str | None) -> tuple[str, str]:
    """A member is missing. extra: an unknown member in its position, perhaps the same one renamed."""
    instead = f", found `{extra}` in its place" if extra else ""
    hint = f"name it `{name}` again" if extra else f"put `{declared} {name};` back in its place"
    if extra:
        hint += "; a `#define` may give it a second name"
    return f"member `{name}` of `{struct}` is missing{instead}", hint


def missing_semicolon(struct: str, name: str) -> tuple[str, str]:
    """A member whose declaration does not end."""
    return f"error: `;` is missing after member `{name}` of `{struct}`", f"write `{name};`"


def extra_member(struct: str, name: str) -> tuple[str, str]:
    """A member that the host does not set."""
    return (
        f"`{struct}` has a member `{name}` that the host does not know: it would never be set",
        "remove it; write a constant as a `#define`, a new argument as a parameter of the kernel in Python",
    )


def retyped_member(struct: str, name: str, expected: str, found: str | None) -> tuple[str, str]:
    """A member of another type."""
    found_type = f", found `{found}`" if found and found != expected else ", found another type"
    return (
        f"member `{name}` of `{struct}` has another type: expected `{expected}`{found_type}",
        f"declare it as `{expected}` and convert the value where it is used",
    )


def element_type(struct: str, name: str, expected: str, found: str | None, cast: str) -> tuple[str, str]:
    """A pointer to elements of another type. cast: how the language reads memory as another type."""
    found_type = f", found `{found}`" if found and found != expected else ", found another type"
    return (
        f"`{name}` of `{struct}` points to elements of another type: expected `{expected}`{found_type}",
        f"keep the declaration, and read wider elements by {cast}",
    )


def moved_member(struct: str, name: str, expected: int, found: int | None, order: Sequence[str]) -> tuple[str, str]:
    """A member at another offset than that at which the host stores it."""
    found_byte = f", found byte {found}" if found is not None and found != expected else ""
    return (
        f"member `{name}` of `{struct}` is at another offset: expected byte {expected}{found_byte}",
        f"the order is {', '.join(f'`{one}`' for one in order)}; leave out `packed` and alignments",
    )


def wrong_size(struct: str, expected: int, found: int | None) -> tuple[str, str]:
    """A struct of another size, though its members are right."""
    found_size = f", found {found}" if found is not None else ""
    return (
        f"`{struct}` has another size: expected {expected} bytes{found_size}",
        "the host uses this size for every element; leave out members and alignments that the generated source lacks",
    )


def dropped_const(struct: str, name: str, declared: str) -> tuple[str, str]:
    """A pointer to read-only elements that lost its const."""
    return (
        f"`{name}` of `{struct}` lost its `const`: the kernel in Python only reads this array, so what is written to "
        "it would not reach the host",
        f"declare it as `{declared}`; to write to the array, write to it in Python too",
    )


def store_to_read_only(name: str, how: str = "is stored to") -> tuple[str, str]:
    """A store to an array that is only read, by the module's interface."""
    return (
        f"`{name}` {how} here, but the kernel in Python only reads it: the host has its own copy, and what is "
        "written would be lost or seen too late",
        f"write to another array, or write to `{name}` in Python too",
    )


def missing_entry(name: str, found: str | None, what: str, head: str) -> tuple[str, str]:
    """The function that the launcher starts is missing. found: one that is there instead."""
    instead = f", found `{found}`" if found else ""
    hint = f"name it `{name}` again" if found else f"the launcher starts `{head}`; restore it"
    return f"{what} `{name}` is missing{instead}", hint


def block_not_a_number(name: str, value: int | None) -> tuple[str, str]:
    """The size of a block cannot be read. value: what it is if it is a number below 1."""
    if value is not None:
        return f"`{name}` is {value}, but must be at least 1", f"write a positive number: `#define {name} 128`"
    return (
        f"`{name}` is not an integer that the launcher can read before the source is compiled",
        f"write a number or an expression of numbers and `#define`d names: `#define {name} 128`",
    )


def block_without_brackets(name: str, value: int) -> tuple[str, str]:
    """A macro that is another number within an expression."""
    return (
        f"`{name}` is {value} by itself, but another number in a product, where its operators bind less",
        f"put brackets around it: `#define {name} (...)`",
    )


def conditional_block(name: str) -> tuple[str, str]:
    """A definition of which only the preprocessor knows whether it counts."""
    return (
        f"`{name}` is defined inside of `#if`: the launcher reads it before the source is compiled, and cannot know "
        "whether this line counts",
        f"define `{name}` once, outside of `#if`; what is for another device or size may be a variant, with `@when`",
    )


def missing_block(name: str, block: int) -> tuple[str, str]:
    """The size of a block is no longer defined."""
    return (
        f"`{name}` is missing: the launcher reads from it how many threads a block has",
        f"write `#define {name} {block}` with the number of threads that the source is written for",
    )


def block_too_large(block: int, most: int, device: str) -> tuple[str, str]:
    """More threads than the device supports."""
    return (
        f"a block of {block} threads is more than {device} supports: {most}",
        f"make the block {most} threads or smaller",
    )


def block_relied_on(kernel: str, expected: int, block: int) -> tuple[str, str]:
    """Another number of threads than the kernel's Python is about."""
    return (
        f"a block has {_threads(block)} here, but kernel `{kernel}` is written for {expected}: the iterations of a "
        "block share memory, wait for each other, or read the index of their thread",
        f"write `ti.loop_config(block_dim={block})` before the loop in Python, and give its shared arrays the size for "
        f"{_threads(block)}; the generated source follows, and this edit is merged with it",
    )


def block_of_subgroups(block: int, size: int) -> tuple[str, str]:
    """A block with a subgroup that is not full."""
    below = block // size * size
    choice = f"{below} or {below + size}" if below else str(size)
    return (
        f"a block of {_threads(block)} ends with a subgroup that is not full, but threads of a subgroup exchange "
        "values here",
        f"make it a multiple of {size}: {choice}",
    )


def block_not_full(block: int, iterations: int) -> tuple[str, str]:
    """A last block with threads that have no iteration."""
    return (
        f"of {iterations:,} iterations, the last block of {_threads(block)} has fewer, but here each thread has one",
        f"make it a number by which {iterations:,} can be divided",
    )


def _threads(number: int) -> str:
    return "1 thread" if number == 1 else f"{number} threads"
