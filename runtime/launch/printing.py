"""Shows what kernels print, and raises where their checks failed: reads the records that a launch left in a buffer.

In: a session, and the sites of a kernel (`Interface.reports`). Out: text on standard output, TaichiAssertionError. What
a record looks like stands in `templates/*/lib/reports.*`. A kernel with sites waits for the end of each of its launches
and shows its records then, in the order of its loops whatever the order in which threads ran; others pay nothing.
"""

from __future__ import annotations

import itertools
import struct
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transpiler.backend.module.interface import PACK_CODES
from ...transpiler.backend.module.records import Turn, failure, text_writer
from ...transpiler.errors import ShadesmithWarning, TaichiAssertionError
from ...transpiler.ir.ops import OPS
from ...transpiler.ir.snodes import IndexComponent, index_at
from ..session.session import Session

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, LoopIndices, TaskSource

WORD_BYTES = 4
HEADER_WORDS = 9
RECORD_WORDS = 3
"""What stands before the words of a record: site, thread, number of words."""
FAILURE_BYTES = 64 << 10
"""Room for failed checks besides the room for prints: what is printed may not displace them."""
EMPTY_SITE = 0xFFFFFFFF
CODES = {"i32": "i", "u32": "I", "f32": "f", "i64": "q", "u64": "Q", "f64": "d"}
"""How `struct` reads each type of word."""

Record = tuple[int, int, tuple[Any, ...]]
"""Site, linear index of the turn of the loop, numbers."""


class ReportBuffer:
    """The memory of a session for records. address: what kernels get; allocation: what stands there."""

    def __init__(self, session: Session) -> None:
        self._device = session.device
        prints = max(WORD_BYTES * HEADER_WORDS, session.config.report_bytes) // WORD_BYTES
        self._ends = HEADER_WORDS + prints, HEADER_WORDS + prints + FAILURE_BYTES // WORD_BYTES
        self.allocation = session.allocate(self._ends[1] * WORD_BYTES, "records of print and assert")
        self.address = self.allocation.address
        first, last = self._ends
        never = 0xFFFFFFFF
        self._header = np.array([HEADER_WORDS, first, 0, first, last, 0, 0, never, never], np.uint32)
        self._clear()

    def _clear(self) -> None:
        self._device.write(self.allocation, memoryview(self._header.tobytes()))

    def take(self) -> tuple[bytes, bytes, int, int] | None:
        """Wait for all launches; return both rooms, how many prints are lost, how many checks failed; None if empty."""
        header = self._read(0, HEADER_WORDS)
        if header == self._header.tobytes():
            return None
        words = np.frombuffer(header, np.uint32).tolist()
        prints = self._read(HEADER_WORDS, min(words[0], self._ends[0]))
        failures = self._read(self._ends[0], min(words[3], self._ends[1]))
        self._clear()
        return prints, failures, words[2], words[6]

    def _read(self, begin: int, end: int) -> bytes:
        data = bytearray(max(0, end - begin) * WORD_BYTES)
        if data:
            self._device.read(self.allocation, memoryview(data), begin * WORD_BYTES)
        return bytes(data)


class Reports:
    """The sites of one kernel. address: of the buffer its launches write to. arguments: block of the last launch."""

    def __init__(self, session: Session, module: BackendModule, arguments: Any) -> None:
        if session.reports is None:
            session.reports = ReportBuffer(session)
        self._buffer: ReportBuffer = session.reports
        self.address = self._buffer.address
        self._module = module
        self._arguments = arguments
        self._sites = sites = module.interface.reports
        self._formats = [struct.Struct("<" + "".join(_codes(site))) for site in sites]
        self._writers: dict[int, Callable[[Sequence[Any]], str]] = {}
        self._is_malformed = False

    def show(self) -> None:
        """Wait for the launch; print what it printed. Raises: TaichiAssertionError for the first failed check."""
        found = self._buffer.take()
        if found is None:
            return
        prints, failures, lost, count = found
        text = "".join([self._writer(site)(numbers) for site, _, numbers in self._ordered(prints)])
        if text:
            sys.stdout.write(text)
        if lost:
            warnings.warn(
                f"kernel `{self._module.kernel}`: the buffer for prints is full, {lost} prints of this launch are "
                "lost. Hint: print less, or make it larger with ti.init(report_bytes=...)",
                ShadesmithWarning,
                stacklevel=5,
            )
        failed = [record for record in self._ordered(failures) if not self._is_call(record)]
        if self._is_malformed:
            self._is_malformed = False
            warnings.warn(
                f"kernel `{self._module.kernel}`: what it left in the buffer for prints and checks cannot all be read: "
                "something wrote over it, or the driver ran the kernel wrongly",
                ShadesmithWarning,
                stacklevel=5,
            )
        if count and not failed:
            raise TaichiAssertionError(f"{count} checks of kernel `{self._module.kernel}` failed; none can be read")
        if failed:
            record = failed[0]
            site, thread, numbers = record
            calls = self._calls_around(record, failures)
            task = self._module.tasks[(calls[-1] if calls else self._sites[site])["task"]]
            turn = None if task.loop is None else Turn(task.loop.line, thread, self._indices(task, task.loop, thread))
            raise failure(self._module.kernel, self._sites[site], numbers, turn, count, calls)

    def read(self, data: bytes) -> tuple[str, int]:
        """Return what is printed in a copy of the buffer, and how many checks failed; nothing is shown or cleared."""
        words = np.frombuffer(data, np.uint32, HEADER_WORDS).tolist()
        prints = data[HEADER_WORDS * WORD_BYTES : min(words[0], words[1]) * WORD_BYTES]
        return "".join([self._writer(site)(numbers) for site, _, numbers in self._ordered(prints)]), words[6]

    def _is_call(self, record: Record) -> bool:
        return bool(self._sites[record[0]]["kind"] == "call")

    def _calls_around(self, failed: Record, room: bytes) -> list[dict[str, Any]]:
        """Return the sites of the calls that led to a check: those behind its record, of the same turn."""
        same_turn = [record for record in self._records(room) if record[1] == failed[1]]
        behind = same_turn[same_turn.index(failed) + 1 :]
        return [self._sites[record[0]] for record in itertools.takewhile(self._is_call, behind)]

    def _indices(self, task: TaskSource, loop: LoopIndices, thread: int) -> dict[str, int] | None:
        """Return the indices of a turn of a loop, None where the host cannot know them."""
        if task.extents is None or None in loop.begins:
            return None
        if loop.order:
            parts = [IndexComponent(axis, extent, weight, 0) for axis, extent, weight in loop.order]
            places = index_at(parts, thread, len(loop.names))
            begins = [self._value(begin) for begin in loop.begins]
            return {name: begin + at for name, begin, at in zip(loop.names, begins, places, strict=True)}
        indices: dict[str, int] = {}
        for axis in reversed(range(len(loop.names))):
            extent = self._value(task.extents[axis]) if axis > 0 else thread + 1
            indices[loop.names[axis]] = self._value(loop.begins[axis]) + loop.steps[axis] * (thread % extent)
            thread //= extent
        return dict(reversed(indices.items()))

    def _value(self, expression: Any) -> int:
        """Return an expression of arguments, as they were in the last launch."""
        kind, *operands = expression
        if kind == "const":
            return int(operands[0])
        if kind == "member":
            member = self._module.interface.members[operands[0]]
            return int(struct.unpack_from(f"<{PACK_CODES[member.type]}", self._arguments, member.offset_bytes)[0])
        return int(OPS[kind].meaning(*[np.int64(self._value(operand)) for operand in operands]))

    def _writer(self, site: int) -> Callable[[Sequence[Any]], str]:
        if site not in self._writers:
            self._writers[site] = text_writer(self._sites[site])
        return self._writers[site]

    def _ordered(self, room: bytes) -> list[Record]:
        """Return the records by task and turn of the loop; those of one turn stay in the order they were written in."""
        tasks = [site["task"] for site in self._sites]
        records = sorted(self._records(room), key=itemgetter(1))
        return sorted(records, key=lambda record: tasks[record[0]]) if len(set(tasks)) > 1 else records

    def _records(self, room: bytes) -> Iterator[Record]:
        """Yield the records of a room up to its end, or to one that no site of this kernel writes."""
        position, head = 0, struct.Struct("<III")
        while position + head.size <= len(room):
            site, thread, size = head.unpack_from(room, position)
            start = position + head.size
            position = start + size * WORD_BYTES
            if site == EMPTY_SITE or position > len(room):
                return
            if site >= len(self._formats) or size * WORD_BYTES != self._formats[site].size:
                self._is_malformed = True
                return
            yield site, thread, self._formats[site].unpack_from(room, start)


def _codes(site: dict[str, Any]) -> Iterator[str]:
    for value in site["values"]:
        yield CODES[value["type"]] * int(np.prod(value["shape"], initial=1, dtype=int))
