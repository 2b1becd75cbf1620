"""Take the times of variants so that they may be compared: in turns, in random order, on equal inputs.

In: variants that are ready to launch, and the timer of their device. Out: for each variant its times, where times of
the same number were taken in the same round. What drifts (clocks, heat, other work on the machine) then touches all
variants alike, and `ratios.ratio_of` compares within rounds only.

A sample is: inputs as they were given, a hold, a time stamp, one or more launches, a time stamp. Short kernels are
launched several times in a sample, else the time stamps' resolution would be seen.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from statistics import median

from ..devices.timer import Timer
from .ratios import CONFIDENCE, MARGIN, least_pairs, ratio_of

SECONDS = 2.0
"""Spent on rounds; half of it suffices where times are steady."""

FIRST_ROUNDS, MAX_ROUNDS = 25, 800
"""Rounds before the first look at the ratios, and before the last; each look doubles them."""

WARM_SECONDS = 0.1
"""A GPU's clocks rise within this time."""

SAMPLE_RESOLUTIONS = 200
"""A sample takes at least as many times what the clock can tell from nothing."""

MAX_REPEATS = 500
"""Launches in a sample, which a driver queues without waiting."""

SLACK_SECONDS = 3e-5
"""What a hold adds to the time that Python takes to launch."""

Take = Callable[[Sequence[int]], Sequence[float]]
"""Runs one round: takes one sample of each variant, in the order given; returns their times in the variants' order."""


def measure(
    take: Take,
    count: int,
    seconds: float = SECONDS,
    confidence: float = CONFIDENCE,
    precision: float = MARGIN / 2,
    generator: random.Random | None = None,
    now: Callable[[], float] = time.perf_counter,
) -> list[list[float]]:
    """Take rounds of `count` variants until all ratios to the first are known well enough, or time is up.

    seconds: for rounds; some are taken in any case. precision: of the ratios. generator: of the orders. now: a clock.
    Returns the times by variant.
    """
    generator = random.Random() if generator is None else generator
    least = least_rounds(count, confidence)
    begin = now()
    times: list[list[float]] = [[] for _ in range(count)]
    rounds, goal = 0, FIRST_ROUNDS
    while True:
        while rounds < goal and (rounds < least or now() - begin < seconds):
            order = generator.sample(range(count), count)
            for column, value in zip(times, take(order), strict=True):
                column.append(value)
            rounds += 1
        if rounds < goal or rounds >= MAX_ROUNDS or _are_settled(times, confidence, precision):
            return times
        goal = min(2 * goal, MAX_ROUNDS)


def least_rounds(count: int, confidence: float = CONFIDENCE) -> int:
    """Return how many rounds are taken whatever they cost: fewer would tell nothing."""
    return max(10, least_pairs(shared_confidence(confidence, count)))


def shared_confidence(confidence: float, count: int) -> float:
    """Return the confidence each of the ratios of `count` variants needs for all of them to have `confidence`."""
    return 1 - (1 - confidence) / max(1, count - 1)


def _are_settled(times: Sequence[Sequence[float]], confidence: float, precision: float) -> bool:
    each = shared_confidence(confidence, len(times))
    return all(ratio_of(column, times[0], each).is_settled(precision) for column in islice(times, 1, None))


@dataclass(slots=True)
class Stand:
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
        shortest = min(self.take(orders))
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
        timer.hold(self.lead)
        begin = time.perf_counter()
        timer.start()
        for _ in range(repeats):
            launch()
        timer.stop()
        spent = time.perf_counter() - begin
        self.lead = 0.5 * self.lead + 0.5 * (1.5 * spent + SLACK_SECONDS)


def in_words(seconds: float) -> str:
    """Return a time as a person says it, with four digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def quartiles(times: Sequence[float]) -> tuple[float, float, float]:
    """Return lower quartile, median and upper quartile."""
    ordered = sorted(times)
    half = (len(ordered) + 1) // 2
    return median(ordered[:half]), median(ordered), median(ordered[-half:])
