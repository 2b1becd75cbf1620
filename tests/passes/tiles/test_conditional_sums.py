"""Pass `register_tiles`: sums under a condition and of rows of different lengths, as whole sums."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

NOTE = "(register_tiles)"
MODULE = sys.modules["shadesmith.transpiler.passes.tiles.parts.register_plan"]
N, M = 70, 33


@pytest.fixture(autouse=True)
def _for_few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few iterations be enough; leave out the interpreter, which has no blocks."""
    if "target" in request.fixturenames and request.getfixturevalue("target") == "python":
        pytest.skip("the interpreter has no tiles")
    for name in ("SHORT", "FEWEST", "THIN"):
        monkeypatch.setattr(MODULE, name, 1)


def kernels(a: Any, b: Any, c: Any) -> dict[str, Callable[[], None]]:
    @ti.kernel
    def around():
        for i, j in c:
            s = 1.0
            if j <= i:
                for k in range(M):
                    s += a[i, k] * b[j, k]
            c[i, j] = s

    @ti.kernel
    def with_another_branch():
        for i, j in c:
            if j < i or i == 3:
                s = 0.0
                for k in range(M):
                    s += a[i, k] * b[j, k]
                c[i, j] = s * 2
            else:
                c[i, j] = -1.0

    @ti.kernel
    def of_a_triangle():
        for i, j in c:
            s = 0.0
            for k in range(i + 1):
                s -= c_of[i, k] * d_of[k, j]
            c[i, j] = s

    @ti.kernel
    def inside():
        for i, j in c:
            s = 0.0
            for k in range(M):
                if k <= j:
                    s += 2.0 * a[i, k] * b[j, k]
            c[i, j] = s

    c_of, d_of = field_of(numbers(N, N)), field_of(numbers(N, N))
    return {kernel.__name__: kernel for kernel in (around, with_another_branch, of_a_triangle, inside)}


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(np.float32)


def field_of(values: np.ndarray) -> Any:
    field = ti.field(ti.f32, values.shape)
    field.from_numpy(values)
    return field


def expected() -> dict[str, np.ndarray]:
    x, y, square = numbers(N, M), numbers(N, M), numbers(N, N)
    whole, (i, j) = x @ y.T, np.indices((N, N))
    masked = np.arange(M)[None] <= np.arange(N)[:, None]
    return {
        "around": np.where(j <= i, whole, 0) + 1,
        "with_another_branch": np.where((j < i) | (i == 3), whole * 2, -1),
        "of_a_triangle": -np.tril(square) @ square,
        "inside": 2 * x @ (y * masked).T,
    }


@pytest.mark.parametrize("name", expected())
def test_results(target: str, name: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    c = ti.field(ti.f32, (N, N))
    kernel = kernels(field_of(numbers(N, M)), field_of(numbers(N, M)), c)[name]
    assert NOTE in kernel.source(arch=ti.cuda)
    kernel()
    assert np.array_equal(c.to_numpy(), expected()[name])


def test_elements_that_need_not_exist() -> None:
    """Under the condition alone `b` has an element, and rows of `a` are as long as they say."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, c = ti.field(ti.f32, (N, M)), ti.field(ti.f32, (M, M)), ti.field(ti.f32, (N, N))

    @ti.kernel
    def around():
        for i, j in c:
            s = 0.0
            if j < M:
                for k in range(M):
                    s += a[i, k] * b[j, k]
            c[i, j] = s

    @ti.kernel
    def triangle():
        for i, j in ti.ndrange(N, M):
            s = 0.0
            for k in range(i - 30):
                s += a[i, k] * b[k, j]
            c[i, j] = s

    assert NOTE not in around.source(arch=ti.cuda) and NOTE not in triangle.source(arch=ti.cuda)


def test_while_loop_under_a_condition() -> None:
    """It stays where it is: only loops over a range have tiles."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, c = field_of(numbers(N, M)), field_of(numbers(N, M)), ti.field(ti.i32, (N, N))

    @ti.kernel
    def squared():
        for i in range(N):
            for k in range(M):
                a[i, k] += b[i, k]
        for i, j in c:
            if (i + j) % 2 == 0:
                rest = c[i, j]
                while rest >= 1:
                    rest = rest * rest % 7
                c[i, j] = rest

    assert NOTE not in squared.source(arch=ti.cuda)
