"""How many times as long one variant takes as another, how sure that is, and what may be said of it.

In: times of two variants, taken in pairs, each pair in random order. Out: a `Ratio` with its interval, and a verdict.

The logarithms of the pairs' ratios go into Wilcoxon's signed-rank statistic. For two variants that are the same, chance
alone decides which of a pair's two times is called whose, so the signs are fair coins whatever the noise is: drift,
heavy tails, outliers, clocks that step. The interval then holds 1 as often as it promises, exactly and not only for
many pairs. A verdict needs the whole interval beyond a margin, so that differences nobody cares for are called none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil, exp, inf, log2, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

CONFIDENCE = 0.99
"""Of an interval; 0.95 would call one of twenty pairs of equal variants different."""

MARGIN = 0.01
"""Differences up to this part of a time are called none: the address of code in memory has an effect of this size."""

EXACT_PAIRS = 50
"""Up to here the statistic's distribution is counted out; beyond, the normal one is right to a rank."""

NO_DIFFERENCE, FASTER, SLOWER = "no difference", "faster", "slower"


@dataclass(frozen=True, slots=True)
class Ratio:
    """Time of a variant over that of the base. low, high: ends of the interval; pairs: how many it comes from."""

    estimate: float
    low: float
    high: float
    confidence: float
    pairs: int

    @property
    def half_width(self) -> float:
        """Half the length of the interval."""
        return (self.high - self.low) / 2

    def verdict(self, margin: float = MARGIN) -> str:
        """Return "faster" or "slower" where the whole interval lies beyond the margin, else "no difference"."""
        if self.high * (1 + margin) < 1:
            return FASTER
        return SLOWER if self.low > 1 + margin else NO_DIFFERENCE

    def is_settled(self, precision: float) -> bool:
        """Return whether more pairs would change nothing that matters.

        The interval is short, or short against the difference: four times would be chance once in 10^20, so to look
        again and again does not make it likelier to see a difference where none is.
        """
        return self.half_width <= max(precision, abs(self.estimate - 1) / 4)

    def __str__(self) -> str:
        return f"{self.estimate:.3f} [{self.low:.3f}, {self.high:.3f}]"


def ratio_of(times: Sequence[float], base: Sequence[float], confidence: float = CONFIDENCE) -> Ratio:
    """Return the ratio of `times` to `base`, taken in pairs.

    The estimate is the median of all averages of two pairs' logarithms (Hodges and Lehmann): nearly as sharp as the
    mean where noise is normal, and as hard to fool as a median where it is not. The interval is unbounded where the
    pairs are too few for it.
    Source: Hollander, Wolfe, Chicken, "Nonparametric Statistical Methods" (2014), 3.1 to 3.3.
    """
    logarithms = np.log(np.asarray(times, np.float64) / np.asarray(base, np.float64))
    count = len(logarithms)
    first, second = np.triu_indices(count)
    averages = np.sort((logarithms[first] + logarithms[second]) / 2)
    middle = (averages[(len(averages) - 1) // 2] + averages[len(averages) // 2]) / 2
    rank = _rank(count, confidence)
    low, high = (averages[rank - 1], averages[-rank]) if rank else (-inf, inf)
    return Ratio(exp(middle), exp(low), exp(high) if high < inf else inf, confidence, count)


def least_pairs(confidence: float) -> int:
    """Return how many pairs an interval needs to have ends: all of one sign must be rare enough."""
    return 1 + ceil(log2(1 / (1 - confidence)) - 1e-9)


@cache
def _rank(count: int, confidence: float) -> int:
    """Return which average, counted from either end, ends the interval; 0 where the pairs are too few."""
    tail = (1 - confidence) / 2
    if count > EXACT_PAIRS:
        spread = sqrt(count * (count + 1) * (2 * count + 1) / 24)
        return int(count * (count + 1) / 4 - NormalDist().inv_cdf(1 - tail) * spread)
    below = np.cumsum(_subsets(count)) / 2.0**count
    return int(np.searchsorted(below, tail * (1 + 1e-9), side="right"))


def _subsets(count: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Return how many subsets of 1, 2, ... `count` have the sum 0, 1, ...: the distribution if signs are fair coins."""
    ways = np.zeros(count * (count + 1) // 2 + 1)
    ways[0] = 1.0
    for number in range(1, count + 1):
        ways[number:] += ways[:-number].copy()
    return ways
