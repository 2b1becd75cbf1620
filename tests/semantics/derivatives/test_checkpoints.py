"""`ti.ad.checkpoint`: long loops in the memory of a few states, with the same gradient bit for bit."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.ad import checkpoints, contents

pytestmark = pytest.mark.one_target  # the rest in `make test-all`

N = 8
PROGRAM = """
@ti.kernel
def step(t: int):
    for i in x: y[i] = x[i] + 0.01 * ti.sin(x[i] * force[i] + 0.001 * t)
    for i in x: loss[None] += 0.001 * y[i] ** 2

@ti.kernel
def back():
    for i in x: x[i] = y[i]

@ti.kernel
def in_place(t: int):
    for i in x: x[i] = x[i] * (1.0 + 0.001 * ti.cos(force[i] * t * x[i]))

@ti.kernel
def measure():
    for i in x: loss[None] += x[i] ** 2
"""


@pytest.fixture
def fields(target: str) -> dict[str, Any]:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    found = {name: ti.field(ti.f64, N, needs_grad=True) for name in ("x", "y", "force")}
    return {**found, "loss": ti.field(ti.f64, (), needs_grad=True)}


def gradients(fields: dict[str, Any], space: dict[str, Any], steps: Any, after: Any = None) -> list[Any]:
    fields["x"].from_numpy(np.linspace(0.1, 1.0, N))
    fields["force"].from_numpy(np.linspace(1.0, 3.0, N))
    with ti.ad.Tape(fields["loss"]):
        for t in steps:
            space["in_place"](t)
            space["step"](t)
            space["back"]()
        if after is not None:
            after()
        space["measure"]()
    return [fields[name].grad.to_numpy().tolist() for name in ("x", "force")] + [fields["x"].to_numpy().tolist()]


@pytest.mark.sampled(7)
@pytest.mark.parametrize(("steps", "memory"), [(0, 2), (1, 2), (2, 2), (7, 2), (12, 3), (30, 6), (5, 40)])
def test_the_gradient_of_a_loop_has_the_same_bits(
    steps: int, memory: int, fields: dict[str, Any], define_program: Any
) -> None:
    space = define_program(PROGRAM, **fields)
    wanted = gradients(fields, space, range(steps))
    assert gradients(fields, space, ti.ad.checkpoint(steps, memory=memory)) == wanted


@pytest.mark.one_target
def test_a_loop_that_breaks_and_arrays_that_change_after_it(fields: dict[str, Any], define_program: Any) -> None:
    space = define_program(PROGRAM, **fields)

    def until_seven(steps: Any) -> Any:
        for t in steps:
            if t == 7:
                break
            yield t
            fields["y"].fill(0.5)

    def after() -> None:
        space["in_place"](3)
        fields["force"].fill(0.0)

    wanted = gradients(fields, space, until_seven(range(20)), after)
    assert gradients(fields, space, until_seven(ti.ad.checkpoint(20, memory=4)), after) == wanted
    assert fields["force"].to_numpy().tolist() == [0.0] * N


@pytest.mark.one_target
@pytest.mark.parametrize("steps", [pytest.param(1000, marks=pytest.mark.exhaustive), 200])
def test_1000_steps_take_the_memory_of_40(
    steps: int, fields: dict[str, Any], define_program: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = define_program(PROGRAM, **fields)
    wanted = gradients(fields, space, range(steps))
    alive, most = [0], [0]

    class Counted(np.ndarray):
        def __del__(self) -> None:
            alive[0] -= self.base is None

    def counting(array: Any) -> Any:
        values = np.asarray(contents.copy_of(array))
        found = np.ndarray.__new__(Counted, values.shape, values.dtype)
        found[...] = values
        alive[0] += 1
        most[0] = max(most[0], alive[0])
        return found

    monkeypatch.setattr(checkpoints, "copy_of", counting)
    monkeypatch.setattr("shadesmith.runtime.ad.tape.copy_of", counting)
    assert gradients(fields, space, ti.ad.checkpoint(steps, memory=40)) == wanted
    assert most[0] <= 40 * 3  # of x, y and loss


@pytest.mark.parametrize(("steps", "states"), [(1, 3), (10, 1), (10, 3), (56, 4), (1000, 38), (1000, 5)])
def test_a_schedule_runs_each_step_as_rarely_as_the_states_allow(steps: int, states: int) -> None:
    """The least number of launches: with `s` states and the least `r` for which C(s + r, s) >= steps."""

    def launches(count: int, free: int) -> int:
        distance = checkpoints.split(count, free)
        if not distance:
            return count * (count - 1) // 2
        return distance + launches(count - distance, free - 1) + launches(distance, free)

    def best(count: int, free: int, known: dict[tuple[int, int], int]) -> int:
        if count < 2 or not free:
            return count * (count - 1) // 2
        if (count, free) not in known:
            known[count, free] = min(
                k + best(count - k, free - 1, known) + best(k, free, known) for k in range(1, count)
            )
        return known[count, free]

    repeats = next(r for r in range(steps) if comb(states + 1 + r, r) >= steps)
    assert launches(steps, states) <= repeats * steps
    if steps < 100:
        assert launches(steps, states) == best(steps, states, {})


@pytest.mark.one_target
def test_mistakes_are_named(fields: dict[str, Any]) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="at least 2 states"):
        ti.ad.checkpoint(10, memory=1)
    assert list(ti.ad.checkpoint(3, memory=2)) == [0, 1, 2]
    with pytest.raises(ti.TaichiRuntimeError, match="inside another one"), ti.ad.Tape(fields["loss"]):
        for _ in ti.ad.checkpoint(3, memory=2):
            for _ in ti.ad.checkpoint(3, memory=2):
                pass
