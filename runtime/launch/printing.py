"""Output of prints and errors of failed checks in kernels, from the records that a launch writes to a buffer.

In: a session, and the record sites of a kernel (`Interface.reports`). Out: standard output, notices on
standard error, TaichiAssertionError.
`templates/*/lib/reports.*` define the layout of records. A kernel with record sites waits for the end of each of its
launches and then shows its records in the order of its loops, whatever the order in which threads ran; other kernels
have no overhead.
"""

from __future__ import annotations

import itertools
import struct
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transpiler.backend.module.interface import PACK_CODES
from ...transpiler.backend.module.records import Iteration, failure, is_notice, notice, text_writer
from ...transpiler.errors import ShadesmithWarning, TaichiAssertionError, TaichiRuntimeError
from ...transpiler.ir.ops import OPS
from ...transpiler.ir.snodes import IndexComponent, index_at
from ..session.session import Session
from .macro_records import MacroRecord, read_record
from .macro_records import failed as failed_macro
from .macro_records import printed as printed_macro

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule, LoopIndices, TaskSource

WORD_BYTES = 4
HEADER_WORDS = 9
FAILURE_BYTES = 64 << 10
"""Size of the region for failed checks, which is separate so that prints cannot displace them."""
EMPTY_SITE = 0xFFFFFFFF
CODES = {"i32": "i", "u32": "I", "f32": "f", "i64": "q", "u64": "Q", "f64": "d"}
"""`struct` codes by the type of a value."""

Record = tuple[int, int, tuple[Any, ...]]
"""Site, linear index of the loop iteration, numbers."""


class ReportBuffer:
    """The memory of a session for records. address: passed to kernels; allocation: the memory at this address."""

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

    def drain(self) -> tuple[bytes, bytes, int, int] | None:
        """Wait for all launches and clear the buffer.

        Returns the regions of prints and of failed checks, how many prints are lost, and how many checks failed; None
        if nothing was recorded.
        """
        header = self._read(0, HEADER_WORDS)
        if header == self._header.tobytes():
            return None
        words = np.frombuffer(header, np.uint32).tolist()
        prints = self._read(HEADER_WORDS, min(words[0], self._ends[0]))
        failures = self._read(self._ends[0], min(words[3], self._ends[1]))
        self._clear()
        return prints, failures, words[2], words[6]

    def _read(self, start: int, end: int) -> bytes:
        data = bytearray(max(0, end - start) * WORD_BYTES)
        if data:
            self._device.read(self.allocation, memoryview(data), start * WORD_BYTES)
        return bytes(data)


def report_buffer(session: Session) -> ReportBuffer:
    """Return the buffer of a session, allocated at the first use."""
    if session.reports is None:
        session.reports = ReportBuffer(session)
    found: ReportBuffer = session.reports
    return found


class Reports:
    """The record sites of one kernel.

    address: of the buffer its launches write to. arguments: argument block of the last launch.
    """

    def __init__(self, session: Session, module: BackendModule, arguments: Any) -> None:
        self._buffer = report_buffer(session)
        self.address = self._buffer.address
        self._module = module
        self._arguments = arguments
        self._sites = sites = module.interface.reports
        self._formats = [None if site["kind"] == "macro" else _format(site) for site in sites]
        self._notices = {number for number, site in enumerate(sites) if is_notice(site)}
        self._formatters: dict[int, Callable[[Sequence[Any]], str]] = {}
        self._is_malformed = False
        self._warned: set[str] = set()

    def show(self) -> None:
        """Wait for the launch; print what it printed.

        Raises: TaichiAssertionError for the first failed check; TaichiRuntimeError if the launch failed.
        """
        try:
            found = self._buffer.drain()
        except TaichiRuntimeError:
            with suppress(TaichiRuntimeError):
                self._buffer.drain()  # records of this kernel are not for the next one
            raise
        if found is None:
            return
        prints, failures, lost, count = found
        ordered = self._ordered(prints)
        output = "".join([self._text(record) for record in ordered if record[0] not in self._notices])
        if output:
            sys.stdout.write(output)
        for site, times in Counter(site for site, _, _ in ordered if site in self._notices).items():
            sys.stderr.write(notice(self._sites[site], times))
        if lost:
            what = "prints or messages of overflow" if self._notices else "prints"
            warnings.warn(
                f"kernel `{self._module.kernel}`: the buffer for prints is full, {lost} {what} of this launch are "
                "lost. Hint: print less, or make it larger with ti.init(report_bytes=...)",
                ShadesmithWarning,
                stacklevel=5,
            )
        failed = [record for record in self._ordered(failures) if not self._is_call(record)]
        if self._is_malformed:
            self._is_malformed = False
            warnings.warn(
                f"kernel `{self._module.kernel}`: some records of prints and checks cannot be read: "
                "they were overwritten, or the driver ran the kernel incorrectly",
                ShadesmithWarning,
                stacklevel=5,
            )
        if count and not failed:
            raise TaichiAssertionError(f"{count} checks of kernel `{self._module.kernel}` failed; none can be read")
        if failed:
            record = failed[0]
            site, thread, numbers = record
            if self._sites[site]["kind"] == "macro":
                where = self._where(site, numbers[0], thread)
                raise failed_macro(self._module.kernel, self._sites[site], numbers[0], where, count)
            calls = self._calls_around(record, failures)
            task = self._module.tasks[(calls[-1] if calls else self._sites[site])["task"]]
            loop = task.loop
            iteration = None if loop is None else Iteration(loop.line, thread, self._indices(task, loop, thread))
            raise failure(self._module.kernel, self._sites[site], numbers, iteration, count, calls)

    def read(self, data: bytes) -> tuple[str, int]:
        """Return the output in a copy of the buffer, and how many checks failed; nothing is shown or cleared."""
        words = np.frombuffer(data, np.uint32, HEADER_WORDS).tolist()
        prints = data[HEADER_WORDS * WORD_BYTES : min(words[0], words[1]) * WORD_BYTES]
        return "".join([self._text(record) for record in self._ordered(prints)]), words[6]

    def _is_call(self, record: Record) -> bool:
        return bool(self._sites[record[0]]["kind"] == "call")

    def _calls_around(self, failed: Record, region: bytes) -> list[dict[str, Any]]:
        """Return the sites of the calls that led to a check: they follow its record and are of the same iteration."""
        same_iteration = [record for record in self._records(region) if record[1] == failed[1]]
        following = same_iteration[same_iteration.index(failed) + 1 :]
        return [self._sites[record[0]] for record in itertools.takewhile(self._is_call, following)]

    def _indices(self, task: TaskSource, loop: LoopIndices, thread: int) -> dict[str, int] | None:
        """Return the indices of a loop iteration, None if the host cannot compute them."""
        if task.extents is None or None in loop.begins:
            return None
        if loop.order:
            parts = [IndexComponent(axis, extent, weight, 0) for axis, extent, weight in loop.order]
            positions = index_at(parts, thread, len(loop.names))
            begins = [self._value(begin) for begin in loop.begins]
            return {name: begin + at for name, begin, at in zip(loop.names, begins, positions, strict=True)}
        indices: dict[str, int] = {}
        for axis in reversed(range(len(loop.names))):
            extent = self._value(task.extents[axis]) if axis > 0 else thread + 1
            indices[loop.names[axis]] = self._value(loop.begins[axis]) + loop.steps[axis] * (thread % extent)
            thread //= extent
        return dict(reversed(indices.items()))

    def _value(self, expression: Any) -> int:
        """Return the value of an expression of arguments in the last launch."""
        kind, *operands = expression
        if kind == "const":
            return int(operands[0])
        if kind == "member":
            member = self._module.interface.members[operands[0]]
            return int(struct.unpack_from(f"<{PACK_CODES[member.type]}", self._arguments, member.offset_bytes)[0])
        return int(OPS[kind].meaning(*[np.int64(self._value(operand)) for operand in operands]))

    def _where(self, site: int, record: MacroRecord, thread: int) -> str:
        """Return the iteration of a record of a macro, as far as it is known."""
        task = self._module.tasks[self._sites[site]["task"]]
        if record.indices:
            return ", ".join(f"{name} = {index}" for name, index in record.indices.items())
        return f"thread {thread}" if task.loop is not None and self._sites[site]["has_thread"] else ""

    def _formatter(self, site: int) -> Callable[[Sequence[Any]], str]:
        if site not in self._formatters:
            self._formatters[site] = text_writer(self._sites[site])
        return self._formatters[site]

    def _text(self, record: Record) -> str:
        """Return the output of a print."""
        site, thread, numbers = record
        if self._formats[site] is not None:
            return self._formatter(site)(numbers)
        (macro,) = numbers
        return printed_macro(self._sites[site], macro, self._where(site, macro, thread), self._warn)

    def _warn(self, problem: str) -> None:
        if problem not in self._warned:
            self._warned.add(problem)
            warnings.warn(problem, ShadesmithWarning, stacklevel=7)

    def _ordered(self, region: bytes) -> list[Record]:
        """Return the records by task and loop iteration; those of one iteration keep the order of writing."""
        tasks = [site["task"] for site in self._sites]
        records = sorted(self._records(region), key=itemgetter(1))
        return sorted(records, key=lambda record: tasks[record[0]]) if len(set(tasks)) > 1 else records

    def _records(self, region: bytes) -> Iterator[Record]:
        """Yield the records of a region up to its end, or to one that no site of this kernel writes."""
        position, head = 0, struct.Struct("<III")
        while position + head.size <= len(region):
            site, thread, size = head.unpack_from(region, position)
            start = position + head.size
            position = start + size * WORD_BYTES
            if site == EMPTY_SITE or position > len(region):
                return
            found = self._record(site, thread, region[start:position]) if site < len(self._formats) else None
            if found is None:
                self._is_malformed = True
                return
            yield found

    def _record(self, site: int, thread: int, data: bytes) -> Record | None:
        """Return a record, None if its data are none of its site."""
        form = self._formats[site]
        if form is not None:
            return (site, thread, form.unpack(data)) if len(data) == form.size else None
        macro = read_record(self._sites[site], data)
        return None if macro is None else (site, self._iteration(site, macro, thread), (macro,))

    def _iteration(self, site: int, record: MacroRecord, thread: int) -> int:
        """Return the number of the iteration that wrote a record of a macro; its thread if that is not known."""
        task = self._module.tasks[self._sites[site]["task"]]
        loop, number = task.loop, 0
        if loop is None or loop.order or task.extents is None or set(loop.names) != record.indices.keys():
            return thread
        for axis, name in enumerate(loop.names):
            begin = loop.begins[axis]
            if begin is None:
                return thread
            offset = (record.indices[name] - self._value(begin)) // loop.steps[axis]
            number = offset if axis == 0 else number * self._value(task.extents[axis]) + offset
        return number


def _format(site: dict[str, Any]) -> struct.Struct:
    return struct.Struct("<" + "".join(_codes(site)))


def _codes(site: dict[str, Any]) -> Iterator[str]:
    for value in site["values"]:
        yield CODES[value["type"]] * int(np.prod(value["shape"], initial=1, dtype=int))
