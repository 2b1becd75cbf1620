"""`ti.init(trap_nan=True)`: the operation that makes a NaN raises, with its operands; a NaN that exists passes."""

from __future__ import annotations

import math

import pytest

import shadesmith as ti

pytestmark = [pytest.mark.sampled(3), pytest.mark.one_target]  # the rest in `make test-all`


def start(target: str, **options: object) -> None:
    ti.init(arch=getattr(ti, target), trap_nan=True, enable_fallback=False, log_level=ti.WARN, **options)


OPERATIONS = {
    "a / b": ("NaN detected: 0 / 0", 0.0, 0.0),
    "a - b": ("NaN detected: inf - inf", math.inf, math.inf),
    "a * b": ("NaN detected: 0 * inf", 0.0, math.inf),
    "ti.sqrt(a) + b": ("NaN detected: sqrt(-1)", -1.0, 0.0),
    "ti.log(a) * b": ("NaN detected: log(-2)", -2.0, 1.0),
    "ti.acos(a) + b": ("NaN detected: acos(2)", 2.0, 0.0),
    "a ** b": ("NaN detected: -2 ** 0.5", -2.0, 0.5),
    "(ti.Vector([1.0, a]) / ti.Vector([1.0, b])).sum()": ("NaN detected: ", 0.0, 0.0),
}


@pytest.mark.parametrize("expression", OPERATIONS)
def test_the_operation_that_makes_a_nan_raises(target: str, expression: str, tmp_path) -> None:
    start(target)
    path = tmp_path / "program.py"
    path.write_text(f"@ti.kernel\ndef run(a: ti.f32, b: ti.f32) -> ti.f32:\n    return {expression}\n")
    scope = {"ti": ti}
    exec(compile(path.read_text(), path, "exec"), scope)
    message, a, b = OPERATIONS[expression]
    with pytest.raises(ti.TaichiAssertionError) as error:
        scope["run"](a, b)
    assert message in str(error.value) and "line 3" in str(error.value)
    assert not math.isnan(scope["run"](1.0, 1.0))


def test_a_nan_that_exists_passes(target: str) -> None:
    start(target)
    x = ti.field(ti.f32, 4)
    x[0] = math.nan

    @ti.kernel
    def run() -> ti.f32:
        for i in range(4):
            x[i] = (x[0] + i) * 2.0 - ti.math.nan
        return ti.sqrt(x[0] / 2.0)

    assert math.isnan(run()) and math.isnan(x[3])


def test_in_functions_with_the_iteration(target: str) -> None:
    start(target, fast_math=False)
    x = ti.field(ti.f64, 100) if target != "vulkan" else ti.field(ti.f32, 100)

    @ti.func
    def inverse(a):
        return (a - 37.0) / (a - 37.0)

    @ti.kernel
    def run():
        for i in range(100):
            x[i] = inverse(float(i))

    with pytest.raises(ti.TaichiAssertionError, match="NaN detected: 0 / 0") as error:
        run()
    assert "i = 37" in str(error.value)


def test_without_the_option_nothing_is_checked(target: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.f32) -> ti.f32:
        return a / a

    assert math.isnan(run(0.0)) or run(0.0) == 1.0  # fast_math
