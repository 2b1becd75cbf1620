"""Gradients of whole programs as strangers write them (`stranger_programs.py`) against finite differences in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti

from .stranger_programs import HEAD, PROGRAMS


@pytest.mark.one_target
@pytest.mark.parametrize(
    "program", [pytest.param(name, marks=() if name == "rk4" else pytest.mark.exhaustive) for name in PROGRAMS]
)
def test_a_program_has_the_gradient_of_finite_differences(program: str, target: str, define_program: Any) -> None:
    ti.init(arch=getattr(ti, target), default_fp=ti.f64, log_level=ti.ERROR)
    space = define_program(HEAD + PROGRAMS[program])
    inputs, loss, run = space["inputs"], space["loss"], space["run"]
    numbers = np.random.default_rng(5)
    start = [numbers.uniform(*space.get("RANGE", (0.4, 1.2)), np.shape(a.to_numpy())) for a in inputs]
    start = [space.get("START", {}).get(position, values) for position, values in enumerate(start)]
    direction = [numbers.uniform(-1, 1, np.shape(values)) for values in start]

    def set_up(step: float) -> None:
        for array, values, change in zip(inputs, start, direction, strict=True):
            array.from_numpy(np.asarray(values + step * change))
        space.get("reset", lambda: None)()
        loss.fill(0)

    def outcome(step: float) -> float:
        set_up(step)
        run()
        return float(np.sum(loss.to_numpy()))

    step = space.get("STEP", 1e-5)
    near, far = outcome(step) - outcome(-step), outcome(2 * step) - outcome(-2 * step)
    set_up(0.0)
    with ti.ad.Tape(loss, validation=True):
        run()
    found = sum(float(np.sum(a.grad.to_numpy() * change)) for a, change in zip(inputs, direction, strict=True))
    assert found == pytest.approx((8 * near - far) / (12 * step), rel=1e-6)
