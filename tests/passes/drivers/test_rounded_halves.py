"""Pass `rounded_halves`: an f16 that is computed in 32 bits is rounded before it is used in 32, on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

VALUES = np.array(
    [0.0, -0.0, 1e-5, 3e-6, 0.875, 2.7, -1.3, 60000, 65504, -65504, np.inf, -np.inf, np.nan, 6e-5], np.float16
)


@ti.kernel(fast_math=False)
def convert(h: ti.types.ndarray(ti.f16, 1), wide: ti.types.ndarray(ti.f32, 2), back: ti.types.ndarray(ti.f16, 1)):
    for i in h:
        wide[i, 0] = ti.cast(ti.cast(h[i], ti.f32) * 1.0001, ti.f16)
        x = ti.cast(ti.cast(h[i], ti.f32) * 0.9997, ti.f16)
        wide[i, 1] = x * ti.f32(3.0)
        wide[i, 2] = ti.sqrt(abs(h[i]))
        v = ti.cast(ti.Vector([ti.cast(h[i], ti.f32) * 1.0001, 0.1]), ti.f16)
        wide[i, 3] = v[0]
        wide[i, 4] = v[1]
        back[i] = ti.cast(ti.cast(h[i], ti.f32) * 1.0001, ti.f16)


@pytest.mark.all_targets
def test_numbers_are_rounded(target: str) -> None:
    ti.init(arch=getattr(ti, {"c": "cpu"}.get(target, target)), log_level=ti.ERROR)
    n = len(VALUES)
    h, wide, back = ti.ndarray(ti.f16, n), ti.ndarray(ti.f32, (n, 5)), ti.ndarray(ti.f16, n)
    h.from_numpy(VALUES)
    convert(h, wide, back)
    x = VALUES.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        above = (x * np.float32(1.0001)).astype(np.float16)
        below = (x * np.float32(0.9997)).astype(np.float16).astype(np.float32) * 3
        root = np.sqrt(abs(x)).astype(np.float16)
    expected = np.stack([above, below, root, above, np.full(n, np.float16(0.1))], 1).astype(np.float32)
    np.testing.assert_array_equal(wide.to_numpy(), expected)
    np.testing.assert_array_equal(back.to_numpy(), above)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    arguments = ti.ndarray(ti.f16, 3), ti.ndarray(ti.f32, (3, 5)), ti.ndarray(ti.f16, 3)
    text = convert.source(*arguments, arch=ti.vulkan)
    lines = [line for line in text.splitlines() if "wide(i, 0) =" in line or "back(i) =" in line]
    assert "rounded_half(" in lines[0] and "rounded_half(" not in lines[1]
    assert "rounded_half" not in convert.source(*arguments, arch=ti.cuda)


@ti.kernel(fast_math=False)
def choose(h: ti.types.ndarray(ti.f16, 1), wide: ti.types.ndarray(ti.f32, 1)):
    for i in h:
        x = ti.cast(h[i], ti.f32)
        wide[i] = ti.cast(ti.cast(x * 1.0001, ti.f16) if h[i] > 1.0 else ti.cast(x * 0.9997, ti.f16), ti.f32) * 3.0


@pytest.mark.all_targets
def test_what_a_branch_gives_is_rounded(target: str) -> None:
    ti.init(arch=getattr(ti, {"c": "cpu"}.get(target, target)), log_level=ti.ERROR)
    h, wide = ti.ndarray(ti.f16, len(VALUES)), ti.ndarray(ti.f32, len(VALUES))
    h.from_numpy(VALUES)
    choose(h, wide)
    x = VALUES.astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = np.where(VALUES > 1, x * np.float32(1.0001), x * np.float32(0.9997)).astype(np.float16)
        np.testing.assert_array_equal(wide.to_numpy(), scaled.astype(np.float32) * 3)


def test_the_source_of_a_branch() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = choose.source(ti.ndarray(ti.f16, 3), ti.ndarray(ti.f32, 3), arch=ti.vulkan)
    assert text.count("rounded_half(float16_t(") == 2 + 2 * 4  # of one iteration, and of four
