"""What a tape of many launches costs: calls and memory in proportion to the launches; and random tapes, whose saved
parts give the same bits as whole arrays."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.ad.contents import Region
from shadesmith.runtime.ad.needed_regions import NeededRegions

pytestmark = pytest.mark.one_target

N = 4
PROGRAM = """
@ti.kernel
def step(x: ti.template(), y: ti.template(), s: int, t: int):
    for i in range(N): x[t, i] = ti.sin(y[s, i]) * y[s, i] + 0.3

@ti.kernel
def in_place(x: ti.template(), t: int):
    for i in range(N): x[t, i] = 0.7 * x[t, i] * x[t, i] + 0.1

@ti.kernel
def all_of(x: ti.template(), y: ti.template()):
    for i, j in x: y[i, j] = ti.cos(x[i, j]) * x[i, j]

@ti.kernel
def one(x: ti.template(), y: ti.template(), t: int, j: int):
    for q in range(2): x[t, j] += 0.2 * y[t, j] ** 2

@ti.kernel
def column(x: ti.template(), y: ti.template(), j: int):
    for t in range(y.shape[0]): x[t, j] = ti.sin(y[t, j]) * y[2, j]

@ti.kernel
def scatter(x: ti.template(), y: ti.template(), t: int):
    for i in range(N): x[t, numbers[i]] += 0.3 * y[t, i] * y[t, numbers[i]]

@ti.kernel
def measure(x: ti.template()):
    for i, j in x: loss[None] += ti.sin(x[i, j]) * x[i, j]
"""


def program(target: str, steps: int, define_program: Any) -> tuple[dict[str, Any], list[Any]]:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    loss, numbers = ti.field(ti.f64, (), needs_grad=True), ti.field(ti.i32, N)
    numbers.from_numpy(np.array([1, 3, 1, 0], np.int32))
    fields = [ti.field(ti.f64, (steps, N), needs_grad=True) for _ in range(3)]
    return {**define_program(PROGRAM, loss=loss, numbers=numbers, N=N), "loss": loss}, fields


def calls_of(function: Callable[[], object]) -> int:
    count = [0]

    def observe(frame: Any, event: str, argument: Any) -> None:
        count[0] += event in ("call", "c_call")

    sys.setprofile(observe)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count[0]


def plain(space: dict[str, Any], fields: list[Any], count: int) -> None:
    for t in range(count - 1):
        space["step"](fields[0], fields[1], t, t + 1)
        space["step"](fields[1], fields[0], t + 1, t + 1)


def saving(space: dict[str, Any], fields: list[Any], count: int) -> None:
    for t in range(count - 1):
        space["step"](fields[0], fields[0], t, t + 1)
        space["in_place"](fields[0], t + 1)
        space["scatter"](fields[1], fields[0], t + 1)


def loops(space: dict[str, Any], fields: list[Any], count: int) -> None:
    for t in range(count - 1):
        for _ in ti.ad.checkpoint(2, memory=2):
            space["in_place"](fields[0], 0)


@pytest.mark.parametrize(("body", "validation"), [(plain, False), (saving, False), (saving, True), (loops, False)])
def test_calls_and_memory_grow_with_the_launches(body: Any, validation: bool, target: str, define_program: Any) -> None:
    found = []
    for count in (20, 40, 80):
        space, fields = program(target, count, define_program)
        tapes: list[Any] = []

        def run() -> None:
            with ti.ad.Tape(space["loss"], validation=validation) as tape:
                body(space, fields, count)  # noqa: B023 - called at once
                space["measure"](fields[0])  # noqa: B023
            tapes.append(tape)  # noqa: B023

        run()
        calls = calls_of(run)
        records = [record for record in tapes[-1].calls if hasattr(record, "saved")]
        pieces = [values for record in records for _, values, _ in record.saved]
        seen = [values for record in records for _, values in record.seen]
        found.append((calls, sum(np.size(values) for values in (*pieces, *seen))))
    (first, _), (second, _), (third, _) = found
    assert third - second <= 2.2 * (second - first)
    (_, first), (_, second), (_, third) = found
    assert third - second <= 2.2 * (second - first)


@pytest.mark.parametrize("seed", range(20))
def test_what_overlaps_is_found_as_by_comparing_all(seed: int) -> None:
    numbers = random.Random(seed)
    arrays = [np.zeros((4, 4, 4))]
    arrays += [arrays[0][:], arrays[0][1:]]  # views: one memory
    other = np.zeros((4, 4, 4))
    known, expected = NeededRegions(), []

    def overlap(one: Region, two: Region) -> bool:
        pairs = list(zip(one.indices, two.indices, strict=True))
        differs = any(a is not None and b is not None and a != b for a, b in pairs)
        return one.key == two.key and (one.array is not two.array or not differs)

    for number in range(300):
        indices = tuple(numbers.choice([None, 0, 1, 2, 3]) for _ in range(3))
        array = numbers.choice([arrays[0]] * 12 + arrays + [other] * 3)
        region = Region(array, indices, None)  # type: ignore[arg-type]
        if numbers.random() < 0.8:
            known.add(number, region)
            expected.append((number, region))
            continue
        wanted = [pair for pair in expected if overlap(pair[1], region)]
        assert known.overlapping(region) == wanted
        known.remove_overlapping(region)
        expected = [pair for pair in expected if not overlap(pair[1], region)]


def random_call(space: dict[str, Any], fields: list[Any], steps: int, numbers: random.Random) -> None:
    x, y = numbers.sample(fields, 2)
    s, t = numbers.sample(range(steps), 2)
    column = numbers.randrange(N)
    calls: list[Callable[[], Any]] = [
        lambda: space["step"](x, y, t, s),
        lambda: space["step"](x, x, s, t),
        lambda: space["in_place"](x, t),
        lambda: space["all_of"](x, y),
        lambda: space["one"](x, y, t, column),
        lambda: space["column"](x, y, column),
        lambda: space["scatter"](x, y, t),
        lambda: x.fill(0.5),
        lambda: x.from_numpy(np.full((steps, N), 0.25)),
        lambda: x.copy_from(y),
    ]
    numbers.choice(calls)()


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(12))
def test_saved_parts_give_the_bits_of_saved_arrays(seed: int, target: str, define_program: Any) -> None:
    steps = 5
    space, fields = program(target, steps, define_program)

    def outcome(saves_parts: bool) -> list[Any]:
        numbers = random.Random(seed)
        for position, array in enumerate(fields):
            array.from_numpy(np.random.default_rng(position).uniform(0.2, 1.0, (steps, N)))
        tape = ti.ad.Tape(space["loss"])
        tape._saves_parts = saves_parts
        with tape:
            for _ in range(10):
                if numbers.random() < 0.15:
                    for _ in ti.ad.checkpoint(4, memory=numbers.randrange(2, 4)):
                        random_call(space, fields, steps, numbers)
                else:
                    random_call(space, fields, steps, numbers)
            for array in fields:
                space["measure"](array)
        return [values.to_numpy().tolist() for array in fields for values in (array, array.grad)]

    assert outcome(True) == outcome(False)
