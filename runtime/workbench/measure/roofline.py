"""`ti.profiler.roofline()`: how close each task comes to what the device can do.

In: the times of tasks by the device's clock. Out: a row for each task and trip count: bytes and operations counted in
the IR (`work`), by the ceilings of the device, which are measured once a session by a copy and by multiplications.
"""

from __future__ import annotations

import statistics
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.frontend.builders.build import build
from ....transpiler.frontend.source.specialization import Specialization, TemplateArgument
from ....transpiler.ir.tasks import Kernel
from ....transpiler.ir.types import f32, i32
from ....transpiler.lang.annotations import ndarray
from ....transpiler.passes import PassContext, run
from ....transpiler.passes.analysis.work import Work, work_of
from ...arrays.ndarray import ScalarNdarray
from ...cache.compiler import options_of
from ...devices.target_tools import tools_of
from ...launch.kernel import kernel
from ...launch.launch_times import LaunchTime, profile_of
from ...session.session import Session
from .timing import in_words

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule
    from ...launch.instance import Instance

COPIED, THREADS = 1 << 26, 1 << 20
"""Floats that the measurement of a GPU's bandwidth copies, more than its cache has, and threads for its arithmetic."""
COPIED_ON_HOST, THREADS_ON_HOST = 1 << 24, 1 << 14
INTERPRETED = 1 << 10
ROW = 256
"""Floats of a row, which stay in the nearest cache."""
ROUNDS, REPEATS = 512, 5
OPERATIONS_A_ROUND = 16
SECONDS_OF_CEILINGS = 0.3


@dataclass(frozen=True, slots=True)
class Ceilings:
    """What the device can do. bandwidth: [B/s] of a copy; rate: operations on f32 [1/s]."""

    bandwidth: float
    rate: float


@dataclass(frozen=True, slots=True)
class RooflineRow:
    """One task with one trip count; see `ti.profiler.roofline`."""

    task: str
    launches: int
    seconds: float
    bytes: float
    operations: float
    bandwidth: float
    rate: float
    share: float
    limit: str
    is_exact: bool

    def __str__(self) -> str:
        exact = "" if self.is_exact else ", counted as if all branches were taken"
        return (
            f"{self.task}: {self.launches} x {in_words(self.seconds)}, {self.bytes / 1e6:.6g} MB at "
            f"{self.bandwidth / 1e9:.4g} GB/s, {self.operations / 1e6:.6g} Mflop at {self.rate / 1e9:.4g} Gflop/s: "
            f"{100 * self.share:.0f} % of the {self.limit} limit{exact}"
        )


@kernel
def copy_for_ceiling(source: ndarray(f32, 1), target: ndarray(f32, 1)):  # type: ignore[no-untyped-def, valid-type]
    """Copy, to measure the bandwidth."""
    for i in target:
        target[i] = source[i]


@kernel
def multiply_for_ceiling(x: ndarray(f32, 1), rounds: i32):  # type: ignore[no-untyped-def, valid-type]
    """Multiply and add in eight chains, to measure the arithmetic."""
    for i in x:
        s = x[i]
        a, b, c, d, e, f, g, h = s, s + 1, s + 2, s + 3, s + 4, s + 5, s + 6, s + 7
        for _ in range(rounds):
            a = a * s + s
            b = b * s + s
            c = c * s + s
            d = d * s + s
            e = e * s + s
            f = f * s + s
            g = g * s + s
            h = h * s + s
        x[i] = a + b + c + d + e + f + g + h


@kernel
def multiply_rows_for_ceiling(x: ndarray(f32, 2), rounds: i32, factor: f32):  # type: ignore[no-untyped-def, valid-type]
    """Do the same in loops that a compiler vectorizes, to measure the arithmetic of a processor."""
    for row in range(x.shape[0]):
        for _ in range(rounds):
            for column in range(x.shape[1]):
                v = x[row, column]
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                v = v * factor + factor
                x[row, column] = v


_CEILINGS: WeakKeyDictionary[Session, Ceilings] = WeakKeyDictionary()


def ceilings_of(session: Session) -> Ceilings:
    """Return what the session's device can do, measured at the first call; the profile does not show that."""
    found = _CEILINGS.get(session)
    if found is None:
        found = _CEILINGS[session] = _measured(session)
    return found


def benched_ceilings(session: Session) -> Ceilings:
    """Return the same, measured as `kernel.bench` measures, for sessions without a profile."""
    found = _CEILINGS.get(session)
    if found is None:
        count, (multiplying, arguments, operations) = _sizes(session)[0], _arithmetic(session)
        source, target = ScalarNdarray(session, f32, (count,)), ScalarNdarray(session, f32, (count,))
        copying: Any = copy_for_ceiling
        copies = copying.bench(source, target, seconds=SECONDS_OF_CEILINGS).rows[0].times
        del source, target
        others = multiplying.bench(*arguments, seconds=SECONDS_OF_CEILINGS).rows[0].times
        found = _CEILINGS[session] = Ceilings(8 * count / min(copies), operations / min(others))
    return found


def _sizes(session: Session) -> tuple[int, int]:
    if tools_of(session.device.name).is_interpreter:
        return INTERPRETED, 4
    return (COPIED_ON_HOST, THREADS_ON_HOST) if session.device.lazy_memory else (COPIED, THREADS)


def _arithmetic(session: Session) -> tuple[Any, tuple[Any, ...], int]:
    """Return the kernel that measures the arithmetic, its arguments, and how many operations it does."""
    threads = _sizes(session)[1]
    if session.device.lazy_memory:
        rows = ScalarNdarray(session, f32, (threads // ROW, ROW))
        return multiply_rows_for_ceiling, (rows, ROUNDS, 0.5), OPERATIONS_A_ROUND * ROUNDS * threads
    x = ScalarNdarray(session, f32, (threads,))
    return multiply_for_ceiling, (x, ROUNDS), OPERATIONS_A_ROUND * ROUNDS * threads


def _measured(session: Session) -> Ceilings:
    count, (multiplying, arguments, operations) = _sizes(session)[0], _arithmetic(session)
    profile = profile_of(session)
    with profile.apart() as times:
        source, target = ScalarNdarray(session, f32, (count,)), ScalarNdarray(session, f32, (count,))
        for _ in range(REPEATS):
            copy_for_ceiling(source, target)
        del source, target
        for _ in range(REPEATS):
            multiplying(*arguments)
    copies = [record.seconds for record in times() if record.kernel == copy_for_ceiling.__name__]
    others = [record.seconds for record in times() if record.kernel == multiplying.__name__]
    return Ceilings(8 * count / min(copies), operations / min(others))


def roofline(session: Session, records: Sequence[LaunchTime]) -> list[RooflineRow]:
    """Return a row for each task and trip count, the longest total first."""
    groups: dict[tuple[str, int], list[LaunchTime]] = {}
    for record in records:
        groups.setdefault((record.task, record.count), []).append(record)
    if not groups:
        return []
    ceilings = ceilings_of(session)
    kernels: dict[int, Kernel] = {}
    rows = [_row(group, ceilings, kernels) for group in groups.values()]
    return sorted((row for row in rows if row is not None), key=lambda row: -row.seconds * row.launches)


def _row(group: Sequence[LaunchTime], ceilings: Ceilings, kernels: dict[int, Kernel]) -> RooflineRow | None:
    last = group[-1]
    instance = None if last.instance is None else last.instance()
    if instance is None:
        return None
    work = _work(instance, last, kernels)
    if work is None:
        return None
    seconds = max(statistics.median(record.seconds for record in group), 1e-12)
    bandwidth, rate = work.bytes / seconds, work.operations / seconds
    of_memory, of_arithmetic = bandwidth / ceilings.bandwidth, rate / ceilings.rate
    limit = "memory" if of_memory >= of_arithmetic else "arithmetic"
    share = max(of_memory, of_arithmetic)
    return RooflineRow(
        last.task, len(group), seconds, work.bytes, work.operations, bandwidth, rate, share, limit, work.is_exact
    )


def _work(instance: Instance, record: LaunchTime, kernels: dict[int, Kernel]) -> Work | None:
    if id(instance) not in kernels:
        kernels[id(instance)] = final_kernel(instance)
    values = {
        member.source: struct.unpack_from(f"<{PACK_CODES[member.type]}", record.arguments, member.offset_bytes)[0]
        for member in instance.module.interface.members
    }
    counts = {record.task: record.count}
    return work_of(kernels[id(instance)], values, counts).get(record.task)


def work_of_module(
    session: Session,
    specialization: Specialization,
    module: BackendModule,
    values: Mapping[Any, Any],
    counts: Sequence[int],
) -> list[Work]:
    """Return the work of each task of a module. values: of the arguments' members by source. counts: trip counts."""
    names = [task.name for task in module.tasks]
    found = work_of(_final(session, specialization), values, dict(zip(names, counts, strict=True)))
    return [found[name] for name in names if name in found]


def final_kernel(instance: Instance) -> Kernel:
    """Return the kernel of an instance after all passes."""
    session = instance.session
    arguments = tuple(map(_with_value, instance.arguments))
    options = options_of(instance.definition, session.options)
    specialization = Specialization(instance.definition, arguments, options, session.device.capabilities)
    return _final(session, specialization)


def _final(session: Session, specialization: Specialization) -> Kernel:
    found: Any = build(specialization).kernel
    run(found, PassContext(specialization.options, session.device.capabilities))
    kernel_: Kernel = found
    return kernel_


def _with_value(argument: Any) -> Any:
    """Return an argument of an instance, which does not keep template arguments alive, as the frontend needs it."""
    if not isinstance(argument, TemplateArgument):
        return argument
    shown: Any = argument.value
    return replace(argument, value=shown.object())
