"""Variants of a kernel on a device, ready to be timed on copies of what a call was given.

In: a call (`Variants`) and modules. Out: a `Stand`, whose `take` runs one round for `timing.measure`. The user's arrays
are read once and never written: variants run on copies, which before every sample hold again what the call was given.

A sample is: inputs as they were given, a hold, a time stamp, one or more launches, a time stamp. Short kernels are
launched several times in a sample, else the time stamps' resolution would be seen.
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
"""A GPU's clocks rise within this time."""

SAMPLE_RESOLUTIONS = 200
"""A sample takes at least as many times what the clock can tell from nothing."""

MAX_REPEATS = 500
"""Launches in a sample, which a driver queues without waiting."""

SLACK_SECONDS = 3e-5
"""What a hold adds to the time that Python takes to launch."""


FIRST_SAMPLES = 10
"""By the shortest of which the launches in a sample are chosen: one alone may have met a core that slept."""


@dataclass(slots=True)
class BenchmarkHarness:
    """Variants on a device.

    launches: of each variant, what starts it and does not wait. restore: gives the inputs back that launches change,
    in order with them and without waiting. repeats: launches in a sample; lead: how long to hold the device [s].
    """

    timer: Timer
    launches: Sequence[Callable[[], None]]
    restore: Callable[[], None]
    repeats: int = 1
    lead: float = 0.0

    def warm_up(self, seconds: float = WARM_SECONDS) -> None:
        """Launch all variants until clocks are up, and find out how many launches a sample needs."""
        orders = range(len(self.launches))
        self.take(orders)
        shortest = min(min(self.take(orders)) for _ in range(FIRST_SAMPLES))
        wanted = SAMPLE_RESOLUTIONS * self.timer.resolution
        self.repeats = max(1, min(MAX_REPEATS, ceil(wanted / max(shortest, 1e-9))))
        begin = time.perf_counter()
        while time.perf_counter() - begin < seconds:
            self.take(orders)

    def take(self, order: Sequence[int]) -> list[float]:
        """Take one sample of each variant in this order; returns the times of one launch [s], by variant."""
        for variant in order:
            self._sample(self.launches[variant])
        found = dict(zip(order, self.timer.read(), strict=True))
        return [found[variant] / self.repeats for variant in range(len(self.launches))]

    def _sample(self, launch: Callable[[], None]) -> None:
        timer, repeats = self.timer, self.repeats
        self.restore()
        timer.delay(self.lead)
        begin = time.perf_counter()
        timer.start()
        for _ in range(repeats):
            launch()
        timer.stop()
        spent = time.perf_counter() - begin
        self.lead = 0.5 * self.lead + 0.5 * (1.5 * spent + SLACK_SECONDS)


class ReplicaSet:
    """Copies of a call's memory on which any of its variants can be launched again and again."""

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._session = recording.launchable.session
        self._replicas = Replicas(recording)
        self._packed = self._replicas.place()
        written = _written(recording)
        self._originals = {region: self._original(region) for region in written if not region.is_lazy}
        self._lazy = [region for region in written if region.is_lazy]

    def _original(self, region: Region) -> AllocationHandle:
        """Return a copy of a copy: from it the device itself gives back what launches have changed."""
        source = self._replicas.memory(region)
        handle = AllocationHandle(self._session, source.size_bytes, f"a copy of `{region.name}`")
        self._session.device.copy(source.allocation, handle.allocation, source.size_bytes)
        return handle

    def launcher(self, module: BackendModule) -> Callable[[], None]:
        """Return what launches a module on the copies without waiting."""
        counts = counts_of(self.recording.launchable, module)
        program: Any = self._replicas.load(module, self._packed)
        return lambda: program.submit(counts)

    def stand(self, modules: Sequence[BackendModule], timer: Timer) -> BenchmarkHarness:
        """Return modules ready to be timed, warm."""
        stand = BenchmarkHarness(timer, [self.launcher(module) for module in modules], self.restore)
        stand.warm_up()
        return stand

    def restore(self) -> None:
        """Give back what launches have changed, in order with them and without waiting."""
        device = self._session.device
        for region, original in self._originals.items():
            device.copy(original.allocation, self._replicas.memory(region).allocation, original.size_bytes)
        for region in self._lazy:
            self._restore_touched(region)
        self._replicas.textures.fill(only_written=True)

    def _restore_touched(self, region: Region) -> None:
        """Give back memory that takes space only where somebody has touched it; it is the host's."""
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
