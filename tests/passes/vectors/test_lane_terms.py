"""Pass `lane_terms`: what branches of sums add is computed before them in C; results are the same on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

N = 100


@ti.kernel
def count_near(x: ti.template(), found: ti.template()):
    for i in x:
        count = 0
        for j in range(N):
            if i != j and (x[i] - x[j]).norm() < 0.3:
                count += 1
        found[i] = count


@ti.kernel
def forces(x: ti.template(), f: ti.template()):
    for i in x:
        f[i] = ti.Vector([0.0, 0.0])
        for j in range(N):
            if i == j:
                continue
            d = x[i] - x[j]
            r2 = d.dot(d)
            if r2 < 0.25:
                f[i] += (1 / r2 - 4.0) * d


@ti.kernel
def bent_sums(a: ti.template(), s: ti.template()):
    for i in range(N):
        total = 0.0
        for j in range(N):
            if a[i, j] > 0:
                total += ti.sqrt(a[i, j])
            else:
                total -= 0.5 * a[i, j]
        s[i] = total


def test_counted_neighbours(target: str) -> None:
    x, found = ti.Vector.field(2, ti.f32, N), ti.field(ti.i32, N)
    points = np.random.default_rng(0).random((N, 2), np.float32)
    x.from_numpy(points)
    count_near(x, found)
    d = np.linalg.norm(points[:, None] - points, axis=-1)
    assert (abs(d - 0.3) > 1e-6).all() and found.to_numpy().tolist() == ((d < 0.3).sum(1) - 1).tolist()


def test_forces_with_a_cutoff(target: str) -> None:
    x, f = ti.Vector.field(2, ti.f32, N), ti.Vector.field(2, ti.f32, N)
    points = np.random.default_rng(1).random((N, 2), np.float32)
    x.from_numpy(points)
    forces(x, f)
    d = (points[:, None] - points).astype(np.float64)
    r2 = (d**2).sum(-1) + np.eye(N)
    expected = (np.where(r2 < 0.25, 1 / r2 - 4, 0)[..., None] * d).sum(1)
    assert np.allclose(f.to_numpy(), expected, rtol=1e-4, atol=1e-2)


def test_sums_of_two_terms(target: str) -> None:
    a, s = ti.field(ti.f32, (N, N)), ti.field(ti.f32, N)
    numbers = np.random.default_rng(2).normal(size=(N, N)).astype(np.float32)
    a.from_numpy(numbers)
    bent_sums(a, s)
    expected = np.where(numbers > 0, np.sqrt(abs(numbers)), -0.5 * numbers).sum(1)
    assert np.allclose(s.to_numpy(), expected, rtol=1e-5)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, f, found = ti.Vector.field(2, ti.f32, N), ti.Vector.field(2, ti.f32, N), ti.field(ti.i32, N)
    a, s = ti.field(ti.f32, (N, N)), ti.field(ti.f32, N)
    before, after = count_near.source(x, found, arch=ti.cpu).split("if (i != j && compared < 0.3f) {")
    assert "(lane_terms)\n        float compared = vec2_length(" in before and "count += 1;" in after
    before, after = forces.source(x, f, arch=ti.cpu).split("if (i == j) {")
    assert "float r2 = " in before and "(lane_terms)\n        vec2 term = " in before
    assert "if (r2 < 0.25f) {" in after and "f_i = vec2_add(f_i, term);" in after
    assert "total += a(i, j) > 0.0f ? sqrtf(a(i, j)) : -(0.5f * a(i, j));" in bent_sums.source(a, s, arch=ti.cpu)
    for arch in (ti.cuda, ti.vulkan):
        assert "(lane_terms)" not in count_near.source(x, found, arch=arch)
        assert " ? " not in bent_sums.source(a, s, arch=arch)


def test_sums_in_their_order() -> None:
    """gcc makes no vectors of sums of floats if their order matters."""
    ti.init(arch=ti.python, log_level=ti.ERROR, fast_math=False)
    x, f, found = ti.Vector.field(2, ti.f32, N), ti.Vector.field(2, ti.f32, N), ti.field(ti.i32, N)
    assert "(lane_terms)" not in forces.source(x, f, arch=ti.cpu)
    assert "(lane_terms)" in count_near.source(x, found, arch=ti.cpu)


@pytest.mark.parametrize(
    "case", ["", "gathered", "column", "few", "stored", "elsewhere", "not a sum", "exp", "guarded"]
)
def test_loops_that_gcc_leaves(case: str) -> None:
    """gcc does not make vectors of these, so that a branch saves time."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, b, k = ti.field(ti.f32, N), ti.field(ti.f32, (N, N)), ti.field(ti.i32, N)
    count = 8 if case == "few" else N

    @ti.kernel
    def kernel(x: ti.types.ndarray(ti.f32, 1)):
        for i in a:
            s = 0.0
            for j in range(count):
                if b[i, j] > 0.5:
                    if ti.static(case == "gathered"):
                        s += b[i, k[j]] * b[i, j]
                    elif ti.static(case == "column"):
                        s += b[j, i] * b[i, j]
                    elif ti.static(case == "stored"):
                        b[i, j] = ti.sqrt(b[i, j]) * 2
                    elif ti.static(case == "elsewhere"):
                        s += ti.sqrt(b[i, j + 1]) * 2
                    elif ti.static(case == "not a sum"):
                        s = s * ti.sqrt(b[i, j]) * 2
                    elif ti.static(case == "exp"):
                        s += ti.exp(b[i, j]) * 2
                    elif ti.static(case == "guarded"):
                        s += ti.sqrt(x[j]) * 2
                    else:
                        s += ti.sqrt(b[i, j]) * 2
            a[i] = s

    x = np.ones(N, np.float32)
    assert ("(lane_terms)" in kernel.source(x, arch=ti.cpu)) == (case == "")


def test_functions_that_may_not_end_are_called_where_the_program_does(target: str) -> None:
    y = ti.field(ti.f32, 4)

    @ti.func
    def steps(n: ti.i32):
        count, m = 0, n
        while m != 1:
            m = m // 2 if m % 2 == 0 else 3 * m + 1
            count += 1
        return count * 0.5

    @ti.kernel
    def sums():
        for i in range(4):
            s = 0.0
            for k in range(100):
                if k > 0:
                    s += steps(k)
            y[i] = s

    sums()
    assert y[3] == y[0] == 1558.5
