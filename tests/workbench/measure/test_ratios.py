"""The statistics of `kernel.bench` on made-up times: noise that is heavy-tailed, drifts, comes in bursts."""

import math
import random

import numpy as np
import pytest

from shadesmith.runtime.workbench.measure.ratios import FASTER, NO_DIFFERENCE, SLOWER, _rank, least_pairs, ratio_of
from shadesmith.runtime.workbench.measure.timing import FIRST_ROUNDS, MAX_ROUNDS, least_rounds, measure, quartiles

RUNS = 200


class Machine:
    """A clock that noise of one kind makes wrong. A sample of variant k takes `lengths[k]`, and what the noise adds."""

    def __init__(self, kind: str, lengths: list[float], seed: int) -> None:
        self.random = np.random.default_rng(seed)
        self.kind, self.lengths = kind, lengths
        self.clock, self.state, self.burst = 0.0, 0.0, 0

    def now(self) -> float:
        return self.clock

    def take(self, order):
        times = [0.0] * len(order)
        for place, variant in enumerate(order):
            times[variant] = self.lengths[variant] * self.factor(place)
            self.clock += 3 * times[variant]
        return times

    def factor(self, place: int) -> float:
        """What noise multiplies a time with."""
        chance = self.random
        steady = chance.lognormal(0.0, 0.005)
        match self.kind:
            case "normal":
                return chance.lognormal(0.0, 0.02)
            case "heavy":  # infinite variance
                return steady * (1 + 0.02 * chance.pareto(1.5))
            case "outliers":
                return steady * (10.0 if chance.random() < 0.05 else 1.0)
            case "drift":  # a chip that gets hot
                self.state += chance.normal(0.0, 0.004)
                return steady * math.exp(self.state)
            case "bursts":  # another program comes and goes, for longer than a round
                self.burst = self.burst - 1 if self.burst else chance.geometric(0.2) if chance.random() < 0.02 else 0
                return steady * (1.4 if self.burst else 1.0)
            case "two clocks":  # sample by sample
                return steady * (1.1 if chance.random() < 0.5 else 1.0)
            case "second in a round":  # what came before left its data in the caches
                return steady * (0.93 if place else 1.0)
            case "coarse":  # ticks of a clock, 0.5 us of 100 us
                return round(steady * 200) / 200
            case "shared":  # a host that six others use
                return chance.lognormal(0.0, 0.1) * (1 + 0.1 * chance.pareto(2.0))


KINDS = ["normal", "heavy", "outliers", "drift", "bursts", "two clocks", "second in a round", "coarse", "shared"]


def ratios(kind: str, lengths: list[float], runs: int = RUNS, **options):
    for seed in range(runs):
        machine = Machine(kind, lengths, seed)
        base, other = measure(machine.take, 2, generator=random.Random(seed), now=machine.now, **options)
        yield ratio_of(other, base)


@pytest.mark.sampled(6)  # 3 to 7 s each
@pytest.mark.parametrize("kind", KINDS)
def test_equal_variants_are_called_equal(kind: str) -> None:
    found = list(ratios(kind, [1e-4, 1e-4]))
    equal = sum(ratio.verdict() == NO_DIFFERENCE for ratio in found)
    holds = sum(ratio.low <= 1 <= ratio.high for ratio in found)
    assert equal >= 0.98 * RUNS and holds >= 0.97 * RUNS, (equal, holds)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", KINDS)
def test_five_percent_are_found(kind: str) -> None:
    found = list(ratios(kind, [1e-4, 1.05e-4]))
    slower = sum(ratio.verdict() == SLOWER for ratio in found)
    right = sum(ratio.low <= 1.05 <= ratio.high for ratio in found)
    assert slower >= 0.97 * RUNS and right >= 0.95 * RUNS, (slower, right)


@pytest.mark.exhaustive
def test_what_nobody_cares_for_is_no_difference() -> None:
    found = list(ratios("normal", [1e-4, 1.007e-4]))
    assert sum(ratio.verdict() == NO_DIFFERENCE for ratio in found) >= 0.99 * RUNS
    assert sum(ratio.low > 1 for ratio in found) > 0.5 * RUNS, "it is seen, but too small"


def test_faster_is_the_mirror_of_slower() -> None:
    for ratio in ratios("heavy", [1.2e-4, 1e-4], 20):
        assert ratio.verdict() == FASTER and abs(ratio.estimate * 1.2 - 1) < 0.02


def test_equal_variants_stay_equal_among_many() -> None:
    """Seven variants beside the base: one chance in a hundred for all together, not for each."""
    wrong = 0
    for seed in range(60):
        machine = Machine("coarse", [1e-4] * 8, seed)
        columns = measure(machine.take, 8, generator=random.Random(seed), now=machine.now)
        wrong += any(ratio_of(column, columns[0], 1 - 0.01 / 7).verdict() != NO_DIFFERENCE for column in columns[1:])
    assert wrong <= 1


def test_time_ends_the_rounds() -> None:
    machine = Machine("shared", [0.1, 0.1], 1)
    columns = measure(machine.take, 2, seconds=20.0, now=machine.now)
    assert 20.0 <= machine.clock < 25.0 and len(columns[0]) < FIRST_ROUNDS * 2
    slow = Machine("normal", [10.0, 10.0], 1)
    assert len(measure(slow.take, 2, seconds=1.0, now=slow.now)[0]) == least_rounds(2), "fewer would tell nothing"
    noisy = Machine("shared", [1e-6, 1e-6], 1)
    assert len(measure(noisy.take, 2, seconds=60.0, now=noisy.now)[0]) == MAX_ROUNDS


def test_a_large_difference_needs_few_rounds() -> None:
    machine = Machine("shared", [1e-3, 3e-3], 1)
    assert len(measure(machine.take, 2, now=machine.now)[0]) <= 50


@pytest.mark.parametrize(("count", "rank"), [(7, 0), (8, 1), (10, 4), (12, 8), (20, 38), (25, 69), (50, 374)])
def test_ranks_are_those_of_the_tables(count: int, rank: int) -> None:
    """Critical values of Wilcoxon's T at 1 %, two-sided, from the tables in books (0, 3, 7, 37, 68, 373), plus one."""
    assert _rank(count, 0.99) == rank


def test_ranks_go_on_smoothly_where_the_normal_distribution_takes_over() -> None:
    steps = [_rank(count + 1, 0.99) - _rank(count, 0.99) for count in range(45, 56)]
    assert max(steps) - min(steps) <= 6  # they grow by themselves


def test_too_few_pairs_have_no_interval() -> None:
    assert least_pairs(0.99) == 8
    few = ratio_of([2.0] * 7, [1.0] * 7)
    assert (
        (few.low, few.high) == (0.0, math.inf) and few.estimate == pytest.approx(2) and few.verdict() == NO_DIFFERENCE
    )
    assert ratio_of([2.0] * 8, [1.0] * 8).verdict() == SLOWER


def test_quartiles() -> None:
    assert quartiles([3.0, 1.0, 2.0, 4.0, 5.0]) == (2.0, 3.0, 4.0)
    assert quartiles([1.0]) == (1.0, 1.0, 1.0)
