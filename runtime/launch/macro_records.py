"""Records of SM_PRINT, SM_ASSERT and SM_TRAP_NAN in edited sources: what a launch prints, and the error that it raises.

In: a site (`workbench/macros/expand.py`) and the words of a record. Out: its values, its line of output, and
TaichiAssertionError. A value is one word with its type, rows and bytes, and then its bytes, so that the source decides
which types there are: a format that does not fit a type shows the value as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...transpiler.backend.module.records import location
from ...transpiler.errors import TaichiAssertionError

TYPES: dict[int, Any] = {
    1: np.bool_, 2: np.int8, 3: np.uint8, 4: np.int16, 5: np.uint16, 6: np.int32, 7: np.uint32, 8: np.int64,
    9: np.uint64, 10: np.float16, 11: np.float32, 12: np.float64,
}  # fmt: skip
"""Types by their numbers in `templates/macros`."""
CONVERSION = re.compile(r"%([-+ #0]*\d*(?:\.\d*)?)(?:hh|h|ll|l|L|z|t|j|q)?(.)", re.DOTALL)
LETTERS = "diuxXocfFeEgGaAsp"
CHARACTERS = "c"

Value = Any
"""A NumPy scalar, or an array of one or two axes."""


class MacroRecord(NamedTuple):
    """What a record has. line: of the edited file; indices: of the parallel loop, as far as the source has them."""

    line: int
    indices: dict[str, int]
    values: list[Value]


def read_record(site: dict[str, Any], words: bytes) -> MacroRecord | None:
    """Return what the words of a record mean, None if they are none of this site."""
    data = np.frombuffer(words, np.uint32)
    found: list[Value] = []
    position = 0
    while position < data.size:
        head = int(data[position])
        if head == 0:  # the end of a record that is shorter than its place
            break
        type, rows, size = TYPES.get(head & 255), head >> 8 & 255, head >> 16
        end = position + 1 + (size + 3) // 4
        if type is None or end > data.size or size % np.dtype(type).itemsize:
            return None
        numbers = np.frombuffer(data[position + 1 : end].tobytes()[:size], type)
        if rows and numbers.size % rows:
            return None
        found.append(numbers.reshape(rows, -1) if rows else numbers[0] if numbers.size == 1 else numbers)
        position = end
    line = int(found.pop(0)) if site["has_line"] and found else site["span"][0]
    names = site["indices"]
    if len(found) != len(names) + len(site["names"]):
        return None
    indices = {name: int(value) for name, value in zip(names, found)}
    return MacroRecord(line, indices, found[len(names) :])


def printed(site: dict[str, Any], record: MacroRecord, where: str, warn: Callable[[str], None]) -> str:
    """Return the line of output of SM_PRINT. where: the iteration. warn: takes what is wrong with its format."""
    place = f"{Path(site['file']).name}:{record.line}"
    if site["format"] is not None:
        text = _formatted(site["format"], site["names"], record.values, lambda problem: warn(f"{place}: {problem}"))
        text = text.removesuffix("\n")
    elif record.values:
        text = _listed(site["names"], record.values)
    else:
        text = "reached"
    return f"{place}: {text}{f'  ({where})' if where else ''}\n"


def failed(kernel: str, site: dict[str, Any], record: MacroRecord, where: str, count: int) -> TaichiAssertionError:
    """Return the error of a failed SM_ASSERT, or of a NaN that SM_TRAP_NAN found. count: of failed checks."""
    span, text = site["span"], site["text"]
    if site["has_line"]:
        text = site["lines"][record.line - 1] if record.line <= len(site["lines"]) else ""
        span = [record.line, len(text) - len(text.lstrip()) + 1, record.line, len(text) + 1]
    place = location([{"file": site["file"], "span": span, "text": text, "function": site["function"]}])
    own, names, values = site["operands"], site["names"], record.values
    if site["macro"] == "SM_TRAP_NAN":
        kind, message = "nan", f"NaN detected: {_listed(names, values)}"
    else:
        kind, message = "assert", f"`{site['condition']}` is false"
        if site["format"]:
            message = f"{_formatted(site['format'], names[own:], values[own:], None)}: {message}"
        if own:
            message += f": {_listed(names[:own], values[:own])}"
    circumstances = f"\n({where})" if where else ""
    if count > 1:
        circumstances = f"\n({count} checks failed in this launch; this is the first{f': {where}' if where else ''})"
    error = TaichiAssertionError(f"{place.describe()}\n[kernel={kernel}] {message}{circumstances}")
    error.location, error.kind, error.kernel, error.message = place, kind, kernel, message
    error.values, error.failures = tuple(_plain(value) for value in values), count
    error.iteration = record.indices or None
    return error


def _plain(value: Value) -> Any:
    return value.tolist()


def _listed(names: Sequence[str], values: Sequence[Value]) -> str:
    return ", ".join(f"{name} = {_written(value, _shortest)}" for name, value in zip(names, values))


def _formatted(format: str, names: Sequence[str], values: Sequence[Value], warn: Callable[[str], None] | None) -> str:
    rest = list(zip(names, values))

    def replaced(match: re.Match[str]) -> str:
        if match[0] == "%%":
            return "%"
        name, value = rest.pop(0)
        type = np.asarray(value).dtype
        if warn is not None and not _fits(match[2], type):
            warn(f"`{match[0]}` is for other types than that of `{name}`, which is {_name_of(type)}")
        return _written(value, lambda number: _converted(match[1], match[2], number))

    return CONVERSION.sub(replaced, format)


def _written(value: Value, write: Callable[[Any], str]) -> str:
    """Return a number, `[a, b]` or `[[a, b], [c, d]]`."""
    if np.ndim(value) == 0:
        return write(value)
    return "[" + ", ".join(_written(part, write) for part in value) + "]"


def _shortest(number: Any) -> str:
    return str(int(number)) if number.dtype.kind in "iub" else str(number).removesuffix(".0")


def _fits(letter: str, type: np.dtype[Any]) -> bool:
    return letter == "s" or (letter in "fFeEgGaA") == (type.kind == "f")


def _name_of(type: np.dtype[Any]) -> str:
    return "bool" if type.kind == "b" else f"{type.kind}{type.itemsize * 8}"


def _converted(flags: str, letter: str, number: Any) -> str:
    """Return a number as printf writes it; one of another kind than the letter is for, as it is."""
    if not _fits(letter, number.dtype) or letter == "s":
        return f"%{flags.replace('0', '') if not flags.strip('0') else flags}s" % _shortest(number)
    if letter in "aA":
        return float(number).hex().upper() if letter == "A" else float(number).hex()
    if letter in "fFeEgG":
        return f"%{flags}{letter}" % float(number)
    value = int(number)
    if letter in "uxXop" and value < 0:
        value += 1 << 8 * number.dtype.itemsize
    if letter in CHARACTERS:
        return chr(value & 255)
    if letter == "p":
        return f"0x{value:x}"
    return f"%{flags}{'d' if letter in 'iu' else letter}" % value
