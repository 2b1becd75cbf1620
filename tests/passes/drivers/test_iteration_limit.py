"""Loops that lavapipe ends early are errors; before that, they are reported if their trip count is known."""

from __future__ import annotations

from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.errors import ShadesmithWarning


@pytest.fixture
def lavapipe(request: pytest.FixtureRequest):
    """A session on a Vulkan driver that ends loops; its parameter says whether to debug."""
    ti.init(arch=ti.vulkan, debug=getattr(request, "param", False), enable_fallback=False)
    if sessions.CURRENT.device.capabilities.loop_iteration_limit is None:
        pytest.skip("this Vulkan driver has no limit")
    yield
    ti.reset()


@ti.kernel
def nest(n: ti.i32) -> ti.i32:
    s = 0
    if n > 0:
        for i in range(300):
            for j in range(300):
                s += 1
    return s


@ti.kernel
def short(n: ti.i32) -> ti.i32:
    s = 0
    if n > 0:
        for i in range(200):
            for j in range(300):
                s += 1
    return s


@ti.kernel
def count_to(n: ti.i32) -> ti.i32:
    s = 0
    while s < n:
        s += 1
    return s


def test_a_nest_with_too_many_iterations_is_reported_with_its_line(lavapipe: None) -> None:
    with pytest.warns(ShadesmithWarning, match=r"for i in range\(300\)(.|\n)*90,300 iterations"):
        with pytest.raises(ti.TaichiRuntimeError, match="serial loops of kernel `nest` reached 65,535 iterations"):
            nest(1)


def test_a_nest_within_the_limit_is_right(lavapipe: None, recwarn: pytest.WarningsRecorder) -> None:
    assert short(1) == 60_000
    assert not [w for w in recwarn if issubclass(w.category, ShadesmithWarning)]


@pytest.mark.parametrize("lavapipe", [True], indirect=True)
def test_a_loop_of_unknown_length_stops_under_debug(lavapipe: None) -> None:
    assert count_to(60_000) == 60_000
    with pytest.raises(ti.TaichiAssertionError, match="65,000 iterations"):
        count_to(70_000)


@ti.kernel
def repeat(x: ti.types.ndarray(ti.i32, 1), n: ti.i32, m: ti.i32):
    for i in x:
        for a, b in ti.ndrange(n, m):
            x[i] += 1


def test_trip_counts_that_depend_on_arguments_are_checked_at_launch(lavapipe: None) -> None:
    x = ti.ndarray(ti.i32, 4)
    repeat(x, 200, 300)
    assert (x.to_numpy() == 60_000).all()
    with pytest.warns(ShadesmithWarning, match="90,300 iterations|90,000 iterations"):
        repeat(x, 300, 300)
    with pytest.raises(ti.TaichiRuntimeError, match="kernel `repeat`"):
        x.to_numpy()


def test_a_loop_of_unknown_length_is_right_or_an_error(lavapipe: None) -> None:
    """It gave 65,535 for all larger numbers."""
    for n in (0, 1, 1000, 65_500):
        assert count_to(n) == n
    for n in (65_536, 70_000, 1_000_000):
        with pytest.raises(ti.TaichiRuntimeError, match=r"kernel `count_to` reached 65,535 iterations(.|\n)*ti.cpu"):
            count_to(n)
    assert count_to(7) == 7  # the session goes on


@ti.func
def counted(n):
    s = 0
    for k in range(n):
        s += 1
    return s


@ti.real_func
def counted_apart(n: ti.i32) -> ti.i32:
    k = 0
    while True:
        if k >= n:
            return k
        k += 1
    return -1


@ti.kernel
def through_functions(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] = counted(n)


@ti.kernel
def through_real_functions(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        x[i] = counted_apart(n) if i >= 0 else 0


@ti.kernel
def with_breaks(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        s = 0
        for a in range(300):
            for b in range(300):
                if s == n:
                    break
                if b == 299:
                    continue
                s += 1
        x[i] = s


@ti.kernel
def one_after_the_other(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        for k in range(8):
            if k == i % 8:
                s = 0
                while s < n // 8:
                    s += 1
                x[i] = s * 8


@ti.kernel
def with_barriers(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    ti.loop_config(block_dim=64)
    for i in x:
        tile = ti.simt.block.SharedArray((64,), ti.i32)
        s = 0
        while s < n:
            s += 1
        tile[i % 64] = s
        ti.simt.block.sync()
        x[i] = tile[(i + 1) % 64]


@pytest.mark.parametrize(
    "kernel",
    [through_functions, through_real_functions, with_breaks, one_after_the_other, with_barriers],
    ids=lambda kernel: kernel.__name__,
)
def test_loops_anywhere_are_right_or_an_error(lavapipe: None, kernel: Any) -> None:
    """8 threads share a count: those whose loops run one after the other reach it together."""
    x = ti.ndarray(ti.i32, 128)
    kernel(x, 2000)
    assert (x.to_numpy() == 2000).all()
    kernel(x, 80_000)
    with pytest.raises(ti.TaichiRuntimeError, match=f"kernel `{kernel.__name__}`"):
        ti.sync()
    kernel(x, 16)
    assert (x.to_numpy() == 16).all()


def test_grid_stride_loops_are_right(lavapipe: None) -> None:
    """More iterations than threads: a thread takes few."""
    x = ti.ndarray(ti.i32, 1 << 23)

    @ti.kernel
    def number(x: ti.types.ndarray(ti.i32, 1)):
        for i in x:
            x[i] = i

    number(x)
    found = x.to_numpy()
    assert found[[0, 1, 12345, -1]].tolist() == [0, 1, 12345, (1 << 23) - 1]


def test_an_ended_loop_leaves_no_prints_to_the_next_kernel(lavapipe: None, capsys: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def talk(n: ti.i32):
        for once in range(1):
            i = 0
            while i < n:
                i += 1
            print("reached", i)

    with pytest.raises(ti.TaichiRuntimeError, match="65,535"):
        talk(100_000)
    talk(5)
    assert capsys.readouterr().out == "reached 5\n"
