"""Take the times of variants so that they may be compared: alternately, in random order, on equal inputs.

In: a function that takes one sample of each variant in a given order (`BenchmarkHarness.sample`). Out: for each variant
its times; times of the same number are from the same round. What drifts (clocks, heat, other work on the machine) then
affects all variants alike, and `ratios.ratio_of` compares only within rounds.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from itertools import islice
from statistics import median

from .ratios import CONFIDENCE, MARGIN, least_pairs, ratio_of

SECONDS = 2.0
"""Spent on rounds; half of it suffices where times are steady."""

FIRST_ROUNDS, MAX_ROUNDS = 25, 800
"""Rounds before the first look at the ratios, and before the last; each look doubles them."""

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
