"""Variants of a kernel on a device, ready to be timed on copies of what a call was given.

In: a call (`Variants`) and modules. Out: a `BenchmarkHarness`, whose `sample` runs one round for
`timing.measure`. The user's arrays
are read once and never written: variants run on copies, which are restored before every sample.

A sample is: inputs restored, a hold of the queue, a time stamp, one or more launches, a time stamp. Short kernels are
launched several times in a sample, because the resolution of time stamps is limited.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np

from ...devices.host_arrays import view_address
from ...devices.host_memory import touched_parts
from ...devices.timer import Timer
from ...session.allocation_handle import AllocationHandle
from .replicas import Recording, Region, Replicas, counts_of

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

WARM_SECONDS = 0.1
"""A GPU's clock rate rises within this time."""

SAMPLE_RESOLUTIONS = 200
"""A sample takes at least this many times the resolution of the clock."""

MAX_REPEATS = 500
"""Launches in a sample: a driver queues so many without waiting."""

SLACK_SECONDS = 3e-5
"""Added to the time that Python takes to launch, for the hold of the queue."""


FIRST_SAMPLES = 10
"""The shortest of them determines the launches in a sample: a single one may have hit a sleeping core."""


@dataclass(slots=True)
class BenchmarkHarness:
    """Variants on a device.

    launches: start each variant without waiting. restore: restores the inputs that launches change, in order with them
    and without waiting. repeats: launches in a sample; lead: how long to hold the device [s].
    """

    timer: Timer
    launches: Sequence[Callable[[], None]]
    restore: Callable[[], None]
    repeats: int = 1
    lead: float = 0.0

    def warm_up(self, seconds: float = WARM_SECONDS) -> None:
        """Launch all variants until the clock rate is up, and determine how many launches a sample needs."""
        orders = range(len(self.launches))
        self.sample(orders)
        shortest = min(min(self.sample(orders)) for _ in range(FIRST_SAMPLES))
        wanted = SAMPLE_RESOLUTIONS * self.timer.resolution
        self.repeats = max(1, min(MAX_REPEATS, ceil(wanted / max(shortest, 1e-9))))
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            self.sample(orders)

    def sample(self, order: Sequence[int]) -> list[float]:
        """Take one sample of each variant in this order; returns the times of one launch [s], by variant."""
        for variant in order:
            self._sample_one(self.launches[variant])
        found = dict(zip(order, self.timer.read(), strict=True))
        return [found[variant] / self.repeats for variant in range(len(self.launches))]

    def _sample_one(self, launch: Callable[[], None]) -> None:
        timer, repeats = self.timer, self.repeats
        self.restore()
        timer.delay(self.lead)
        start = time.perf_counter()
        timer.start()
        for _ in range(repeats):
            launch()
        timer.stop()
        spent = time.perf_counter() - start
        self.lead = 0.5 * self.lead + 0.5 * (1.5 * spent + SLACK_SECONDS)


class ReplicaSet:
    """Copies of a call's memory on which any of its variants can be launched again and again."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._session = recording.launchable.session
        self._replicas = Replicas(recording)
        self._packed = self._replicas.place()
        written = _written(recording)
        self._snapshots = {region: self._snapshot(region) for region in written if not region.is_lazy}
        self._lazy = [region for region in written if region.is_lazy]

    def _snapshot(self, region: Region) -> AllocationHandle:
        """Return a copy of a copy, from which the device restores what launches have changed."""
        source = self._replicas.memory(region)
        handle = AllocationHandle(self._session, source.size_bytes, f"a copy of `{region.name}`")
        self._session.device.copy(source.allocation, handle.allocation, source.size_bytes)
        return handle

    def launcher(self, module: BackendModule, counts: Sequence[int] | None = None) -> Callable[[], None]:
        """Return a function that launches a module on the copies without waiting. counts: its tasks' trip counts."""
        if counts is None:
            counts = counts_of(self.recording.launchable, module)
        program: Any = self._replicas.load(module, self._packed)
        return lambda: program.submit(counts)

    def run_once(self, module: BackendModule, counts: Sequence[int], wait: Callable[[], None]) -> None:
        """Launch a module once on the copies. wait: waits for the end."""
        self.restore()
        self.launcher(module, counts)()
        wait()

    def harness(
        self, modules: Sequence[BackendModule], timer: Timer, counts: Sequence[Sequence[int]]
    ) -> BenchmarkHarness:
        """Return modules ready to be timed, warm. counts: the trip counts of each one's tasks."""
        launches = [self.launcher(module, each) for module, each in zip(modules, counts, strict=True)]
        harness = BenchmarkHarness(timer, launches, self.restore)
        harness.warm_up()
        return harness

    def restore(self) -> None:
        """Restore what launches have changed, in order with them and without waiting."""
        device = self._session.device
        for region, snapshot in self._snapshots.items():
            device.copy(snapshot.allocation, self._replicas.memory(region).allocation, snapshot.size_bytes)
        for region in self._lazy:
            self._restore_touched(region)
        self._replicas.textures.fill(only_written=True)

    def _restore_touched(self, region: Region) -> None:
        """Restore lazily allocated memory where it has been touched; it is on the host."""
        handle = self._replicas.memory(region)
        begin = self._replicas.offset(region)
        memory = view_address(handle.allocation.address, np.dtype(np.uint8), (handle.size_bytes,))
        memory = memory[begin : begin + region.size_bytes]
        for first, end in touched_parts(memory.ctypes.data, memory.size):
            memory[first:end] = region.contents[first:end]


def _written(recording: Recording) -> list[Region]:
    """Return the regions that a launch may change."""
    arrays = recording.launchable.generated.interface.arrays
    found = [p.region for p in recording.pointers if p.slot < 0 or arrays[p.slot].written]
    return list(dict.fromkeys(found))
