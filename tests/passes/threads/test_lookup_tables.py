"""Pass `lookup_tables`: a block computes once what each thread would compute in each iteration of a serial loop."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda", only=True)  # elsewhere the pass returns at once

NOTE = "once for all of its threads (lookup_tables)"
N = 200


def numbers(n: int = N):
    x, y = ti.field(ti.f32, n), ti.field(ti.f32, n)
    x.from_numpy(np.random.default_rng(1).random(n, np.float32))
    return x, y


def same_without(target: str, program) -> str:
    """Run a program with and without the pass; the results are equal to the bit. Return its source with the pass."""
    found = []
    for passes in ("-lookup_tables", ""):
        ti.init(arch=getattr(ti, target), passes=passes, log_level=ti.ERROR)
        found.append(program())
    (plain, without), (result, source) = found
    assert NOTE not in without
    assert np.array_equal(plain, result)
    return source


@pytest.mark.parametrize("n", [1, N])
def test_a_window_has_the_weights_of_a_table(target: str, n: int) -> None:
    def program():
        (x, y), radius = numbers(n), 4

        @ti.kernel
        def blur(sigma: ti.f32):
            for i in range(n):
                s = 0.0
                for a in range(-radius, radius + 1):
                    for b in range(-radius, radius + 1):
                        s += ti.exp(-(a * a + b * b) / (2 * sigma * sigma)) * x[(i * 7 + a * 3 + b + 20) % n]
                y[i] = s

        blur(2.0)
        return y.to_numpy(), blur.source(2.0)

    source = same_without(target, program)
    assert NOTE in source
    assert "float exp_a_b[2 * radius + 1][2 * radius + 1];" in source
    assert "exp_a_b[a + radius][b + radius] * x(" in source


def test_threads_without_an_iteration_fill_tables_too(target: str) -> None:
    def program():
        x, y = numbers(3)

        @ti.kernel
        def angles(step: ti.f32):
            for i in x:
                if x[i] < 0:
                    continue
                for k in range(3, 103):
                    y[i] += x[i] * ti.cos(k * step)

        angles(0.1)
        return y.to_numpy(), angles.source(0.1)

    source = same_without(target, program)
    assert "cos_k[k - 3]" in source


def test_a_sum_of_all_iterations_has_a_table(target: str) -> None:
    def program():
        x, _ = numbers()

        @ti.kernel
        def total(step: ti.f32) -> ti.f32:
            s = 0.0
            for i in x:
                for k in range(64):
                    s += ti.exp(-k * step) * x[(i + k) % N]
            return s

        return np.float32([total(0.1)]), total.source(0.1)

    assert NOTE in same_without(target, program)


def test_tiles_read_a_table_at_what_their_threads_have(target: str) -> None:
    a, b, c = (ti.field(ti.f32, (512, 512)) for _ in range(3))

    @ti.kernel
    def product(g: ti.f32):
        for i, j in c:
            s = 0.0
            for k in range(512):
                s += a[i, k] * b[k, j] * g ** (511 - k)
            c[i, j] = s

    source = product.source(0.9)
    assert "pow_table[512]" in source and NOTE in source


def test_elements_that_exist_are_read_for_a_table(target: str) -> None:
    (x, y), w, scale = numbers(), ti.field(ti.f32, 40), ti.field(ti.f32, ())

    @ti.kernel
    def inside():
        for i in x:
            for k in range(40):
                y[i] += x[i] * ti.exp(w[k] / scale[None])

    @ti.kernel
    def outside():
        for i in x:
            for k in range(50):
                if k < 40 - i % 2:
                    y[i] += x[i] * ti.exp(w[k + 1])

    @ti.kernel
    def changed():
        for i in x:
            for k in range(40):
                y[i] += x[i] * ti.exp(w[k])
            w[i % 40] = y[i]

    assert NOTE in inside.source()
    assert NOTE not in outside.source()
    assert NOTE not in changed.source()


def test_what_is_short_or_differs_stays(target: str) -> None:
    x, y = numbers()

    @ti.kernel
    def short(step: ti.f32):
        for i in x:
            for k in range(25):
                y[i] += x[i] * ti.exp(-k * step)

    @ti.kernel
    def own(step: ti.f32):
        for i in x:
            for k in range(64):
                y[i] += ti.exp(-k * step * x[i])

    @ti.kernel
    def long(step: ti.f32):
        for i in x:
            for k in range(1025):
                y[i] += x[i] * ti.exp(-k * step)

    for kernel in (short, own, long):
        assert NOTE not in kernel.source(0.5)


def test_a_quotient_by_what_may_be_0_is_not_computed_early(target: str) -> None:
    x, y = numbers()

    @ti.kernel
    def parts(n: ti.i32):
        for i in x:
            for k in range(64):
                if k > i % 3:
                    y[i] += x[i] * ti.exp(ti.cast(n // k, ti.f32) * -0.1)

    assert NOTE not in parts.source(7)


def test_functions_are_tabulated(target: str) -> None:
    def program():
        x, y = numbers()

        @ti.func
        def window(q, h):
            v = 0.0
            if q < h:
                v = (h - q) ** 3
                v = v * ti.exp(-q)
            elif q < 2 * h:
                v = ti.log(1 + q)
            return v

        @ti.kernel
        def smooth(h: ti.f32):
            for i in x:
                for k in range(100):
                    y[i] += window(k * 0.1, h) * x[(i + k) % N]

        smooth(3.0)
        return y.to_numpy(), smooth.source(3.0)

    assert "window_k[k] * x(" in same_without(target, program)


ANGLES = """
    @ti.kernel
    def angles(x: ti.types.ndarray(ti.f32, 1), step: ti.f32):
        for i in range(200):
            s = 0.0
            for k in range(103):
                s += x[i] * ti.cos(k * step)
            x[i] = s
"""


def test_tables_are_part_of_the_ir_that_people_edit(target: str, tmp_path) -> None:
    angles, x = written_programs.write(tmp_path / "p.py", ANGLES).angles, np.ones(N, np.float32)
    path = angles.edit(x, 0.1, form="ir")
    before, tables = path.read_text().split("tables {")
    path.write_text(before + "tables {" + tables.replace("cos $", "sin $", 1))
    angles(x, 0.1)
    assert np.allclose(x, np.sin(np.arange(103) * 0.1).sum(), rtol=1e-4)


@pytest.mark.targets("vulkan", only=True)
def test_a_value_that_only_another_one_needs_has_no_table(target: str) -> None:
    def program():
        x, y = numbers()

        @ti.kernel
        def nested():
            for i in range(N):
                for k in range(64):
                    q = (i * 7 + k) & 31
                    y[i] += ti.exp(ti.sin(q * 0.1) * 0.5) * x[k]

        nested()
        return y.to_numpy(), nested.source()

    source = same_without(target, program)
    assert "sin_q[q] * x(k)" in source
    assert "sin_q_1" not in source


@pytest.mark.targets("cuda")
def test_loads_behind_a_condition_stay_there(target: str) -> None:
    def program():
        (_, y), w, v = numbers(), ti.field(ti.f32, 10), ti.Vector.field(3, ti.f32, 4)
        w.fill(0.5)
        v.fill(0.25)

        @ti.kernel
        def guarded(n: ti.i32):
            for i in range(N):
                for k in range(1000):
                    if k < 9:
                        y[i] += ti.cos(w[k + 1] * 2) * ti.exp(w[k + 1])
                    if 0 <= n < 9:
                        y[i] += ti.cos(w[n + 1] * k)
                    if k < 3:
                        y[i] += ti.exp(v[2][k] * 3) * ti.cos(v[2][k])

        guarded(1 << 30)
        return y.to_numpy(), guarded.source(1 << 30)

    assert NOTE not in same_without(target, program)


@pytest.mark.targets("vulkan", only=True)
def test_functions_that_may_not_end_are_called_where_the_program_does(target: str) -> None:
    def program():
        x, y = numbers(4)

        @ti.func
        def steps(n: ti.i32):
            count, m = 0, n
            while m != 1:
                m = m // 2 if m % 2 == 0 else 3 * m + 1
                count += 1
            return ti.exp(-count * 0.1)

        @ti.kernel
        def sums():
            for i in range(4):
                for k in range(100):
                    if k > 0:
                        y[i] += steps(k) * x[i]

        sums()
        return y.to_numpy(), sums.source()

    assert NOTE not in same_without(target, program)


@pytest.mark.targets("cuda")
def test_tasks_that_a_launch_chooses_from_have_their_own_tables(target: str) -> None:
    def program():
        x, y = np.random.default_rng(1).random((40, 100), np.float32), np.zeros((40, 100), np.float32)

        @ti.kernel
        def rows(x: ti.types.ndarray(ti.f32, 2), y: ti.types.ndarray(ti.f32, 2)):
            for i in range(x.shape[0]):
                for k in range(x.shape[1]):
                    for q in range(40):
                        y[i, k] += x[i, k] * ti.exp(ti.cos(q * 0.1))

        rows(x, y)
        return y, rows.source(x, y, arch=ti.cuda)

    source = same_without(target, program)
    assert source.count(NOTE) == source.count("__shared__") == 2


@pytest.mark.targets("cuda")
def test_a_loop_near_the_greatest_number_has_no_table(target: str) -> None:
    """The threads of a block, which count further than the loop, would never end."""

    def program():
        x, y = numbers(3)

        @ti.kernel
        def sums():
            for i in x:
                for k in range(2147483500, 2147483600):
                    y[i] += ti.exp(ti.cos(k * 1e-6)) * x[i]

        sums()
        return y.to_numpy(), sums.source()

    assert NOTE not in same_without(target, program)
