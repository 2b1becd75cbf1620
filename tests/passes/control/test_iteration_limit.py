"""Loops that lavapipe would end early: reported if their trip count is known, counted under debug."""

from __future__ import annotations

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
