"""`kernel.launch_plan(*args)`: what a call would launch, task by task and byte by byte. Nothing is launched.

In: the `Variants` of a call. Out: a `LaunchPlan`: the variant that runs; grid, block and trip count of each task; the
members of the argument block with offsets, sizes and values; which task waits for which.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.backend.module.one_file import task_sources
from ...devices.host.device import usable_cores
from ...viewed import table_lines
from ..edits.variants import Variants
from ..measure.replicas import packed_call
from .statistics import INDENT

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule, Interface, Member

BARRIER = re.compile(r"\b(?:barrier|__syncthreads)\(\)")
"""What all threads of a block wait at, in a source."""
TEMPORARIES = -1
"""The slot of temporaries in `TaskSource.reads` and `.writes`."""
ADDRESSES = frozenset({"pointer", "gradient", "temporaries", "result", "report", "texture", "texels"})
"""Members whose value is shown as an address."""


@dataclass(frozen=True, slots=True)
class PlannedTask:
    """One launch on the device.

    iterations: None if only the device knows their number. grid: blocks a row and rows, None where the host's cores run
    the iterations. block: threads a block. waits_for: names of the arrays through which an earlier task reaches this
    one. barriers: of a block, in the source of its file.
    """

    name: str
    kind: str
    iterations: int | None
    grid: tuple[int, int] | None
    block: int
    items: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    waits_for: tuple[str, ...]
    barriers: int

    @property
    def threads(self) -> int | None:
        """The number of threads that are started."""
        return None if self.grid is None else self.grid[0] * self.grid[1] * self.block


@dataclass(frozen=True, slots=True)
class PlannedMember:
    """One member of the argument block. value: what a call packs; an address for arrays."""

    name: str
    type: str
    offset_bytes: int
    size_bytes: int
    what: str
    value: Any
    is_address: bool = False

    @property
    def shown(self) -> str:
        """The value for people."""
        return f"{self.value:#x}" if self.is_address else str(self.value)


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What a call would launch. variant: "generated", "edit" or a name, and why."""

    kernel: str
    device: str
    variant: str
    tasks: tuple[PlannedTask, ...]
    arguments: tuple[PlannedMember, ...]
    size_bytes: int
    threads_of_host: int | None

    def __str__(self) -> str:
        lines = [f"{self.kernel} on {self.device}, {self.variant}"]
        for task in self.tasks:
            lines += self._shown(task)
        lines.append(f"arguments, {self.size_bytes} bytes")
        rows = [("at", "bytes", "type", "name", "value", "what")]
        rows += [(str(a.offset_bytes), str(a.size_bytes), a.type, a.name, a.shown, a.what) for a in self.arguments]
        return "\n".join([*lines, *(table_lines(rows, INDENT) if self.arguments else [f"{INDENT}none"])])

    def _shown(self, task: PlannedTask) -> list[str]:
        count = "as many as the device finds" if task.iterations is None else f"{task.iterations:,}"
        lines = [f"task {task.name}: {task.kind}, iterations: {count}"]
        if task.grid is None:
            where = "one thread" if task.kind == "serial" else f"the host's threads ({self.threads_of_host})"
            lines.append(f"    run by {where}")
        else:
            rows = f" x {task.grid[1]:,}" if task.grid[1] > 1 else ""
            each = f", {task.items} iterations a thread at a time" if task.items > 1 else ""
            lines.append(f"    grid {task.grid[0]:,}{rows} of block {task.block:,}: {task.threads:,} threads{each}")
        lines.append(f"    reads {_listed(task.reads)}; writes {_listed(task.writes)}")
        if task.waits_for:
            lines.append(f"    starts when the tasks before have ended: {_listed(task.waits_for)}")
        if task.barriers:
            lines.append(f"    barriers of a block in its source: {task.barriers}")
        return lines


def launch_plan(variants: Variants) -> LaunchPlan:
    """Return what the call would launch. Raises: as the launch itself, for arguments or an edit that cannot run."""
    module = variants.module()
    packed, counts = packed_call(variants, module)
    session: Any = variants.session
    program = None if module.program is not None else session.programs.find(module).program
    grids: Callable[[Sequence[int]], list[tuple[int, int]]] | None = getattr(program, "grids", None)
    return LaunchPlan(
        module.kernel, session.device.title, str(variants.chosen),
        tuple(_tasks(module, counts, None if grids is None else grids(counts))),
        tuple(_member(member, module.interface, packed) for member in module.interface.members),
        module.interface.args_size_bytes, getattr(session.device, "threads", None) or usable_cores(),
    )  # fmt: skip


def _tasks(
    module: BackendModule, counts: Sequence[int], grids: Sequence[tuple[int, int]] | None
) -> Iterable[PlannedTask]:
    """Yield the tasks in order."""
    own = task_sources(module)
    names = {slot: array.name for slot, array in enumerate(module.interface.arrays)} | {TEMPORARIES: "temporaries"}
    touched: dict[int, bool] = {}  # by slot, whether a task before writes it
    for number, (task, count) in enumerate(zip(module.tasks, counts, strict=True)):
        waits = [s for s in {*task.reads, *task.writes} if touched.get(s)]
        waits += [s for s in task.writes if s in touched and s not in waits]
        for slot in {*task.reads, *task.writes}:
            touched[slot] = touched.get(slot, False) or slot in task.writes
        yield PlannedTask(
            task.name, task.kind, None if count == -1 else max(count, 0), None if grids is None else grids[number],
            task.block_dim, task.items, _names(task.reads, names), _names(task.writes, names),
            _names(sorted(waits), names), len(BARRIER.findall(own.files[own.tasks[number].file].text)),
        )  # fmt: skip


def _names(slots: Iterable[int], names: dict[int, str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names[slot] for slot in slots))


def _member(member: Member, interface: Interface, packed: bytes) -> PlannedMember:
    value = struct.unpack_from(f"<{PACK_CODES[member.type]}", packed, member.offset_bytes)[0]
    return PlannedMember(
        member.name, member.type, member.offset_bytes, member.size_bytes, _described(member, interface), value,
        member.source[0] in ADDRESSES,
    )  # fmt: skip


def _described(member: Member, interface: Interface) -> str:
    """Return what a member is, for people."""
    match member.source:
        case ("argument", position, component):
            return f"argument {position}" + (f", component {component}" if component else "")
        case (kind, slot) if kind in ADDRESSES:
            of = interface.textures[slot] if kind in ("texture", "texels") else interface.arrays[slot]
            return f"address of `{of.name}`"
        case (("shape" | "stride") as kind, slot, axis):
            return f"{'extent' if kind == 'shape' else 'stride'} of `{interface.arrays[slot].name}` along axis {axis}"
        case ("texture_shape", slot, axis):
            return f"extent of `{interface.textures[slot].name}` along axis {axis}"
        case (("temporaries" | "result" | "report") as kind,):
            return f"address of the {kind} of the kernel"
        case ("seed",):
            return "start of the random numbers of this launch"
        case ("divisor", _):
            return "multiplier and shift of a division"
    return str(member.source[0]).replace("_", " ")


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) if names else "nothing"
