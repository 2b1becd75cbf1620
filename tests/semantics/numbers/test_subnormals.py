"""Where numbers below the normal ones are kept: what docs/numerics.md says of each target, read back from it."""

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

TINY = {"f32": 1e-40, "f64": 1e-310}


def keeps_subnormals(target: str, name: str, atomic: bool) -> bool:
    """Return what the page says; skip where it says nothing."""
    if target == "cuda":
        return not (atomic and name == "f32")  # atom.add.f32 on global memory (PTX ISA, `atom`)
    if target != "vulkan":
        return True
    device = sessions.CURRENT.device
    if device.adapter.is_llvmpipe:
        if "Mesa 22.3" not in device.driver:
            pytest.skip(f"nothing is said of {device.driver}")
        return True
    if "NVIDIA" not in device.title.upper() and "NVIDIA" not in device.driver.upper():
        pytest.skip(f"nothing is said of {device.title}")
    return name == "f64"


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.all_targets
def test_arithmetic(target: str, name: str) -> None:
    T, tiny = getattr(ti, name), TINY[name]

    @ti.kernel
    def compute(x: ti.types.ndarray(T, 1), o: ti.types.ndarray(T, 1)):
        for i in x:
            o[i] = x[i] + x[i]
            o[i + 1] = x[i] * ti.cast(0.5, T)
            o[i + 2] = ti.cast(x[i] > 0.0, T)

    x, o = ti.ndarray(T, 1), ti.ndarray(T, 3)
    x.from_numpy(np.array([tiny], x.to_numpy().dtype))
    compute(x, o)
    kind = x.to_numpy().dtype.type
    kept = [float(kind(tiny) + kind(tiny)), float(kind(tiny) * kind(0.5)), 1.0]
    expected = kept if keeps_subnormals(target, name, False) else [0.0, 0.0, 0.0]
    assert o.to_numpy().astype(float).tolist() == expected


@pytest.mark.parametrize("name", ["f32", "f64"])
@pytest.mark.all_targets
def test_atomic_sum(target: str, name: str) -> None:
    T, tiny = getattr(ti, name), TINY[name]
    total = ti.field(T, ())

    @ti.kernel
    def add(x: ti.types.ndarray(T, 1)):
        for i in x:
            total[None] += x[i]

    x = ti.ndarray(T, 2)
    x.from_numpy(np.full(2, tiny, x.to_numpy().dtype))
    add(x)
    kind = x.to_numpy().dtype.type
    expected = float(kind(tiny) + kind(tiny)) if keeps_subnormals(target, name, True) else 0.0
    assert float(total[None]) == expected


def test_copies_keep_them_everywhere(target: str) -> None:
    @ti.kernel
    def copy(x: ti.types.ndarray(ti.f32, 1), o: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            o[i] = x[i]

    numbers = np.array([1e-40, -1e-45, 0.0, -0.0], np.float32)
    x, o = ti.ndarray(ti.f32, 4), ti.ndarray(ti.f32, 4)
    x.from_numpy(numbers)
    copy(x, o)
    assert o.to_numpy().tobytes() == numbers.tobytes()
