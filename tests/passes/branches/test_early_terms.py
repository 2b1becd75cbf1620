"""Pass `early_terms`: what all iterations but one add is computed before the branch, in CUDA C; results are the same."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import shadesmith as ti

V2 = ti.types.ndarray(ti.math.vec2, 1)


@ti.kernel
def forces(x: V2, f: V2, leaves: ti.template()):
    for i in x:
        s = f[i]
        for j in range(x.shape[0]):
            if ti.static(leaves):
                if j == i:
                    continue
                d = x[j] - x[i]
                s += d / (d.norm_sqr() + 0.5) ** 1.5
            elif i != j:
                d = x[j] - x[i]
                s += d / (d.norm_sqr() + 0.5) ** 1.5
        f[i] = s


@pytest.mark.sampled(3)
@pytest.mark.parametrize("n", [0, 1, 2, 127, 129, 300])
@pytest.mark.parametrize("leaves", [False, True])
@pytest.mark.targets("cpu", "vulkan", "cuda")  # the interpreter takes 6 s for 300 bodies
def test_forces(target: str, n: int, leaves: bool) -> None:
    x = np.random.default_rng(n).random((n, 2), np.float32)
    start = np.ones((n, 2), np.float32)
    found = start.copy()
    forces(x, found, leaves)
    d = x[None].astype(np.float64) - x[:, None]
    expected = start + (d / ((d**2).sum(-1, keepdims=True) + 0.5) ** 1.5).sum(1)
    assert np.allclose(found, expected, rtol=2e-5, atol=2e-5)


def test_a_term_that_is_no_number_is_not_added(target: str) -> None:
    """The distance of a body from itself is 0, and the quotient not a number."""
    n = 96

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1), s: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            total = 0.0
            for j in range(x.shape[0]):
                if i != j:
                    d = x[i] - x[j]
                    total += d / (d * d) * ti.abs(d) * d
            s[i] = total

    x, s = np.arange(n, dtype=np.float32), np.zeros(n, np.float32)
    add(x, s)
    assert np.allclose(s, np.abs(x[:, None] - x).sum(1), rtol=1e-5)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.Vector.ndarray(2, ti.f32, 4)
    for leaves, condition in ((False, "if (i != j) {"), (True, "if (j == i) {")):
        source = forces.source(x, x, leaves, arch=ti.cuda)
        before, after = source.split(condition)
        assert "(early_terms)" in before and "vec2 term = d * " in before and "rsqrt" in before
        assert "s += term;" in after
        assert "(early_terms)" not in forces.source(x, x, leaves, arch=ti.vulkan)


def test_an_element_that_a_branch_adds_to_is_in_a_register(target: str) -> None:
    """`keep_elements` need not know whether the branch is taken, where the element exists."""
    n = 40
    position, force = ti.field(ti.f32, n), ti.field(ti.f32, n)

    @ti.kernel
    def add(m: ti.i32):
        for i in range(n):
            for j in range(m):
                if i != j:
                    force[i] += ti.sqrt(ti.abs(position[i] - position[j])) * (j + 1) / (i + 2)

    x = np.arange(n, dtype=np.float32) ** 2
    for m in (0, 1, n):
        position.from_numpy(x)
        force.fill(1.0)
        add(m)
        expected = 1 + (np.sqrt(np.abs(x[:, None] - x)) * (np.arange(n) + 1) / (np.arange(n)[:, None] + 2))[:, :m].sum(
            1
        )
        assert np.allclose(force.to_numpy(), expected, rtol=1e-5)
    source = add.source(n, arch=ti.cuda)
    assert "force_i += term;" in source and "force(i) = force_i;  // stored once" in source


def test_what_stays_in_the_branch() -> None:
    """Conditions that are read, or leave more out, stores, elements that might not exist, and little to compute."""

    def is_early(case: str) -> bool:
        ti.init(arch=ti.python, log_level=ti.ERROR, passes="-block_tiles,-lookup_tables")
        n = 300
        a, b, kind = ti.field(ti.f32, n), ti.field(ti.f32, n), ti.field(ti.i32, n)

        @ti.kernel
        def add():
            for i in a:
                s = 0.0
                for j in range(n):
                    if ti.static(case == "read"):
                        if kind[i] != kind[j]:
                            s += ti.exp(b[j]) * ti.sqrt(b[j] + 1) / (b[j] + 2)
                    elif ti.static(case == "stored"):
                        if i != j:
                            kind[j] = int(ti.exp(b[j]) * ti.sqrt(b[j] + 1) / (b[j] + 2))
                    elif ti.static(case == "elsewhere"):
                        if i != j:
                            c = b[i + j - 5]
                            s += ti.exp(c) * ti.sqrt(c + 1) / (c + 2)
                    elif ti.static(case == "parity"):
                        if (i + j) % 2 != 0:
                            s += ti.exp(b[j]) * ti.sqrt(b[j] + 1) / (b[j] + 2)
                    elif ti.static(case == "short"):
                        if i != j:
                            s += b[j]
                    elif i != j:
                        s += ti.exp(b[j]) * ti.sqrt(b[j] + 1) / (b[j] + 2)
                a[i] = s

        return "(early_terms)" in add.source(arch=ti.cuda)

    assert is_early("")
    for case in ("read", "stored", "elsewhere", "parity", "short"):
        assert not is_early(case), case


def test_sources_of_c() -> None:
    """gcc makes vectors of a loop with a branch if that does no more than add, and the loop's end is no member."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.Vector.ndarray(2, ti.f32, 4)
    source = forces.source(x, x, False, arch=ti.cpu)
    before, after = source.split("if (i != j) {")[:2]
    assert "lanes of vectors (early_terms)" in before and "vec2 term = " in before and "j < end_j" in before
    assert "term" in after.split("}")[0]


def test_a_division_that_the_branch_guards(target: str) -> None:
    """`//` of numbers that the branch shows to be positive is the processor's, which traps a division by zero."""
    n = 50

    @ti.kernel
    def add(s: ti.types.ndarray(ti.i32, 1)):
        for i in s:
            total = 0
            for j in range(i, n):
                if j != i:
                    total += (7 * j + j * j + 3) // (j - i) % (j - i) + j * 3 * i
            s[i] = total

    s = np.zeros(n, np.int32)
    add(s)
    expected = [sum((7 * j + j * j + 3) // (j - i) % (j - i) + j * 3 * i for j in range(i + 1, n)) for i in range(n)]
    assert s.tolist() == expected


def test_a_driver_for_which_branches_are_jumps() -> None:
    """NVIDIA's Vulkan driver."""
    ti.init(arch=ti.vulkan, log_level=ti.ERROR)
    device = ti.Session.current().device
    device.capabilities = replace(device.capabilities, jumps_over_terms=True)
    x = np.random.default_rng(0).random((300, 2), np.float32)
    found = np.ones_like(x)
    forces(x, found, False)
    d = x[None].astype(np.float64) - x[:, None]
    assert np.allclose(found, 1 + (d / ((d**2).sum(-1, keepdims=True) + 0.5) ** 1.5).sum(1), rtol=2e-5)
    before, after = forces.source(x, x, False).split("if (i != j) {")[:2]
    assert "vec2 term = d * " in before and "s += term;" in after
