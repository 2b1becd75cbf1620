"""Pass `fold_recurrences`: loops that only scale and shift local variables are one step, within rounding."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

NOTE = "iterations at once (fold_recurrences)"


def start(passes: str = "", arch=ti.cpu, **options) -> None:
    ti.init(arch=arch, log_level=ti.ERROR, passes=passes, **options)


STEPS = {
    "scale and shift": "a = a * 0.999 + 0.5",
    "shift": "a += 0.25",
    "scale": "a *= 0.97",
    "alternate": "a = 3.0 - a",
    "several": "a, b = a * 0.9 + 0.5, 0.5 - b * 0.9",
    "nested operations": "a = 0.5 * (a - 2.0) + 0.25 * a",
    "negative": "b = -b",
}
OTHERS = {
    "growing": "a = a * 2.0 - 2.0",
    "vanishing": "a = a * 0.5",
    "of each other": "a, b = b * 0.5, a * 0.5",
    "one after the other": "a = a * 0.5\na = a + 1.0",
    "square": "a = a * a * 0.5",
    "the index": "a = a * 0.5 + k",
    "used elsewhere": "a = a * 0.5\nb = b + a",
    "an element": "a = a * 0.5 + x[0]",
    "an end": "a = a * 0.5 + 1.0\nif b > 0.0:\n    break",
    "integers": "c += 3",
}


def make(step: str, count: str, dtype: object, folder) -> tuple[object, np.ndarray]:
    lines = step.replace("\n", "\n                ")
    program = written_programs.write(
        folder / "program.py",
        "def make(dtype, x, y):\n"
        "    @ti.kernel\n"
        "    def iterate(n: ti.i32):\n"
        "        for i in x:\n"
        "            a, b, c = x[i], x[i] + 1.0, i\n"
        f"            for k in range({count}):\n"
        f"                {lines}\n"
        "            y[i] = a + 2.0 * b + c\n"
        "    return iterate\n",
    )
    x, y = ti.field(dtype, 37), ti.field(dtype, 37)
    x.from_numpy(np.linspace(-4, 9, 37).astype(x.to_numpy().dtype))
    iterate = program.make(dtype, x, y)
    iterate(7)
    return iterate, y.to_numpy()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("count", ["2", "100", "3, 300, 7", "9, 1, -1"])
@pytest.mark.parametrize("dtype", [ti.f32, ti.f64], ids=str)
def test_a_loop_is_one_step(step: str, count: str, dtype: object, tmp_path) -> None:
    start(default_fp=dtype)
    kernel, found = make(step, count, dtype, tmp_path)
    assert NOTE in kernel.source(7) and "for (int k" not in kernel.source(7)
    start("-fold_recurrences", default_fp=dtype)
    kernel, expected = make(step, count, dtype, tmp_path)
    assert NOTE not in kernel.source(7)
    assert found == pytest.approx(expected, rel=2e-5 if dtype == ti.f32 else 1e-13, abs=1e-4 if dtype == ti.f32 else 0)


@pytest.mark.parametrize("step", OTHERS.values(), ids=OTHERS)
def test_other_loops_stay(step: str, tmp_path) -> None:
    start()
    kernel, _ = make(step, "100", ti.f32, tmp_path)
    assert NOTE not in kernel.source(7)


@pytest.mark.parametrize("count", ["n", "1", "5, 5"])
def test_trip_counts_that_are_unknown_or_short_stay(count: str, tmp_path) -> None:
    start()
    kernel, _ = make(STEPS["shift"], count, ti.f32, tmp_path)
    assert NOTE not in kernel.source(7)


def test_exact_arithmetic_keeps_each_step(tmp_path) -> None:
    start(fast_math=False)
    kernel, _ = make(STEPS["shift"], "100", ti.f32, tmp_path)
    assert NOTE not in kernel.source(7)


def test_infinities_and_nan_stay() -> None:
    start()

    @ti.kernel
    def settle(x: ti.f32) -> ti.f32:
        a = x
        ti.loop_config(serialize=True)
        for _ in range(50):
            a = a * 0.9 + 1.0
        return a

    assert settle(np.inf) == np.inf and settle(-np.inf) == -np.inf and np.isnan(settle(np.nan))
    assert NOTE in settle.source(1.0)
