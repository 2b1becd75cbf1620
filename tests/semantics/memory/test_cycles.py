"""A thousand times made and dropped leaves nothing: no device memory, no programs, no growth of the process."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session.session import current

MAY_GROW_BYTES = 6 << 20
"""What allocators keep for themselves; a leak of one field of 64 KiB a turn would be ten times that."""


WARM, WARM_ON_GPU = 30, 500
"""Turns before measuring. NVIDIA's Vulkan driver (580.159, H200) maps its command memory on first use in steps of 8 MiB,
three between the 100th and the 400th launch (`/dev/nvidiactl` in /proc/self/smaps); up to the 4,000th nothing follows."""


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def measure() -> tuple[int, int]:
    """Return bytes in use on the device, and those of the process."""
    gc.collect()
    ti.sync()
    return int(current().device.used_bytes), resident_bytes()


def repeat(action: Callable[[int], None], times: int, warm: int = WARM) -> None:
    """Do something often, and check that neither the device's memory in use nor the process grows."""
    if not current().device.host_memory:
        warm = WARM_ON_GPU
    for turn in range(warm):
        action(turn)
    in_use, resident = measure()
    for turn in range(times):
        action(turn)
    after = measure()
    assert after[0] == in_use
    assert after[1] - resident < MAY_GROW_BYTES, f"{(after[1] - resident) / times:.0f} bytes a turn"


def particle() -> Any:
    return ti.types.struct(mass=ti.f32, velocity=ti.types.vector(3, ti.f32))


PARTICLE = particle()


@ti.kernel
def increment(x: ti.template()):
    for i in x:
        x[i] += 1


@ti.kernel
def increment_array(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in x:
        x[i] += 1


@pytest.mark.all_targets
def test_large_fields_made_and_dropped(target: str, full: bool) -> None:
    def turn(number: int) -> None:
        x = ti.field(ti.f32, shape=1 << 24)
        x[number] = 1
        assert x[number] == 1 and x[number + 1] == 0

    repeat(turn, 1000 if full and target == "cpu" else 100, warm=5)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_thousand_fields_through_one_kernel(target: str, full: bool) -> None:
    programs = current().programs

    def turn(number: int) -> None:
        x = ti.field(ti.i32, shape=100)
        increment(x)
        if number % 100 == 0:
            assert x[99] == 1

    repeat(turn, 1000 if full and target != "python" else 100)
    assert increment.instances() == []
    if target != "python":
        assert programs.built == 1 and len(programs) == 1


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_thousand_fields_alive_at_once_share_one_program(target: str, full: bool) -> None:
    fields = [ti.field(ti.i32, shape=3) for _ in range(1000 if full and target != "python" else 100)]
    for field in fields:
        increment(field)
    assert [field[2] for field in fields] == [1] * len(fields)
    if target != "python":
        assert current().programs.built == 1
    del fields, field
    assert increment.instances() == []


def placed(number: int) -> None:
    x, y = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
    block = ti.root.dense(ti.i, 4).dense(ti.i, 4)
    block.place(x, y)
    increment(x)
    assert x[15] == 1 and y[3][1] == 0


def built(number: int) -> None:
    x, builder = ti.field(ti.i32), ti.FieldsBuilder()
    builder.dense(ti.i, 10).place(x)
    tree = builder.finalize()
    increment(x)
    tree.destroy()


def apart(number: int) -> None:
    s = PARTICLE.field(shape=5, layout=ti.Layout.SOA)
    s[2].velocity = [1, 2, 3]
    v = ti.Vector.field(3, ti.i32, shape=5, layout=ti.Layout.SOA)
    increment(v.get_scalar_field(1))
    assert v[4].y == 1 and s.velocity.get_scalar_field(2)[2] == 3


def viewed(number: int) -> None:
    a = ti.ndarray(ti.i32, 20)
    increment_array(a)
    increment_array(a[3:9])
    assert a[3] == 2 and a[2] == 1


def exported(number: int) -> None:
    x = ti.field(ti.i32, shape=10)
    increment(x)
    shown = np.asarray(x)
    del x
    assert shown[9] == 1


def passed(number: int) -> None:
    values = np.zeros(50 + number % 7, np.int32)
    increment_array(values)
    increment_array(values[::2])
    assert values[0] == 2 and values[1] == 1


def defined(number: int) -> None:
    x = ti.field(ti.f32, shape=64, needs_grad=True)

    @ti.kernel
    def total() -> ti.f32:
        s = 0.0
        for i in x:
            s += x[i] + x.grad[i]
        return s

    assert total() == 0


def in_an_object(number: int) -> None:
    @ti.data_oriented
    class Solver:
        def __init__(self) -> None:
            self.x = ti.field(ti.i32, shape=8)

        @ti.kernel
        def step(self):
            for i in self.x:
                self.x[i] += 2

    solver = Solver()
    solver.step()
    assert solver.x[7] == 2


def refused(number: int) -> None:
    with pytest.raises(ti.TaichiRuntimeError):
        ti.field(ti.i32, shape=1 << 31, needs_grad=True)
    with pytest.raises(ti.TaichiRuntimeError):
        ti.Matrix.field(8, 8, ti.f64, shape=(1 << 31) - 1)


KINDS = [placed, built, apart, viewed, exported, passed, defined, in_an_object]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("action", [*KINDS, refused])
def test_each_kind_leaves_nothing(target: str, action: Callable[[int], None]) -> None:
    repeat(action, 10 if action is refused else 50, warm=10)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_thousand_mixed_things_leave_nothing(target: str, full: bool) -> None:
    repeat(lambda number: KINDS[number % len(KINDS)](number), 1000 if full and target != "python" else 200, warm=40)


def test_staging_memory_goes_back_with_reset(target: str) -> None:
    for _ in range(3):
        increment_array(np.zeros(1000, np.int32)[::2])
        device = current().device
        ti.init(arch=current().arch, log_level=ti.WARN)
        assert device.used_bytes == 0
