"""Every kind of access outside an array, a vector or a matrix is caught under `debug=True`, and nothing is touched.

The kinds are rows of `tests/support/kernels/out_of_bounds`; RELIABILITY.md R16 asks for forty.
"""

from __future__ import annotations

import inspect
from types import SimpleNamespace

import numpy as np
import pytest
from out_of_bounds import cells, what, where  # noqa: F401  (they fill ROWS)
from out_of_bounds.rows import LAST, ROWS

import shadesmith as ti


@pytest.fixture
def world(target) -> SimpleNamespace:
    """Fields between others that must not change."""
    ti.init(arch=getattr(ti, target), debug=True, enable_fallback=False, log_level=ti.WARN)
    made = {
        "a": ti.field(ti.f32, 4),
        "b": ti.field(ti.i32, 4),
        "m": ti.field(ti.f32, (4, 5)),
        "t": ti.field(ti.i32, (2, 3, 4)),
        "v": ti.Vector.field(3, ti.f32, shape=4),
        "q": ti.Matrix.field(2, 3, ti.f32, shape=4),
        "n": ti.field(ti.i32, ()),
        "last": ti.field(ti.i32, 4),
    }
    for number, field in enumerate(made.values()):
        field.fill(number + 1)
    made["b"].from_numpy(np.array([0, 1, 2, 9], np.int32))
    return SimpleNamespace(fields=list(made.values()), **made)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_an_access_out_of_bounds_is_told_and_not_done(world, row):
    before = [field.to_numpy() for field in world.fields]
    call = row.make(world)
    with pytest.raises(ti.TaichiAssertionError) as caught:
        call()
        ti.sync()
    error = caught.value
    assert (error.kind, error.array, error.index, error.shape) == ("bounds", row.array, row.index, row.shape)
    assert (error.location.line, error.location.file) == (line_of(row.make), inspect.getfile(row.make))
    assert (calls_of(error.location), error.iteration) == (row.chain, row.iteration or None)
    assert f'", line {error.location.line}, column ' in str(error) and "^" in str(error) and error.message in str(error)
    for numbers in (row.index, row.shape):
        assert ", ".join(map(str, numbers)) in error.message
    after = [field.to_numpy() for field in world.fields]
    assert all(np.array_equal(old, new) for old, new in zip(before, after, strict=True))
    assert read_last(world.a) == before[0][LAST], "the session is usable after the error"


def test_there_are_forty_kinds():
    assert len(ROWS) >= 40


def line_of(make) -> int:
    """Return the line that ends with `# out`."""
    lines, first = inspect.getsourcelines(make)
    return first + next(number for number, text in enumerate(lines) if text.rstrip().endswith("# out"))


def calls_of(location) -> tuple[str, ...]:
    """Return the functions on the way to a place, the kernel first."""
    return () if location is None else (*calls_of(location.call_site), location.function)


@ti.kernel
def read_last(a: ti.template()) -> ti.f32:
    return a[LAST]


def test_a_vector_in_its_field_is_left_alone_too(world):
    """A component outside its vector would be the next vector's."""

    @ti.kernel
    def run(j: ti.i32):
        for i in world.v:
            world.v[i][j] = 9.0

    with pytest.raises(ti.TaichiAssertionError) as caught:
        run(3)
    assert caught.value.failures == 4 and caught.value.iteration == {"i": 0}
    assert (world.v.to_numpy() == 5).all()


def test_a_numpy_array_is_not_touched_around_its_view(world):
    whole = np.zeros((4, 4), np.int32)

    @ti.kernel
    def run(x: ti.types.ndarray(), n: ti.i32):
        for i in range(n):
            x[i] = 1

    with pytest.raises(ti.TaichiAssertionError, match="`x` has shape \\(4\\)") as caught:
        run(whole[1], 9)
    assert caught.value.failures == 5 and caught.value.iteration == {"i": 4}
    assert whole.tolist() == [[0] * 4, [1] * 4, [0] * 4, [0] * 4]


@pytest.mark.parametrize("i", [4, -1, 2])
def test_what_is_not_evaluated_is_not_checked(world, i):
    a, b, m = world.a, world.b, world.m

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        found = 0
        if 0 <= i < 4 and b[i] == 2:
            found += 1
        if i < 0 or i > 3 or b[i] != 2:
            found += 2
        found += b[i] * 4 if 0 <= i < 4 else 100
        k = i
        while 0 <= k < 4 and b[k] < 9:
            k += 1
        for j in range(max(i, 0), 4):
            found += ti.cast(a[j], ti.i32) * 0
        for j in range(i, 5):
            if j >= 0:
                found += ti.cast(m[0, j], ti.i32) * 0
        return found

    assert run(i) == {4: 102, -1: 102, 2: 9}[i]


@pytest.mark.parametrize("i", [4, -1, 2])
def test_a_pointer_made_before_a_return_is_not_an_access(world, i):
    """Statements without effect are moved out of the way of loops behind a `return`: `a[i]` is, its load is not."""
    a, b, v, last = world.a, world.b, world.v, world.last

    @ti.kernel
    def run(i: ti.i32) -> ti.i32:
        p = ti.Vector([5, 6, 7])
        if i < 0 or i >= 3:
            return 1
        a[i] = 9.0
        q = p[i]
        for k in last:
            last[k] += q
        v[i][i] += 1.0
        return b[i] + p[i]

    assert run(i) == {4: 1, -1: 1, 2: 9}[i]
    assert a.to_numpy().tolist() == [1, 1, 9 if i == 2 else 1, 1]


def test_the_first_turn_of_many_is_the_one_that_is_told(world):
    """Whatever the order in which threads run, and more of them fail than there is room for records."""
    x = ti.field(ti.i32, 10)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            if i % 1000 == 977:
                x[i] = 1

    for _ in range(3):
        with pytest.raises(ti.TaichiAssertionError) as caught:
            run(60_000)
        assert (caught.value.index, caught.value.iteration, caught.value.failures) == ((977,), {"i": 977}, 60)


def test_tasks_behind_a_failure_do_not_run_and_earlier_ones_have(world):
    x, y, z = (ti.field(ti.i32, 4) for _ in range(3))

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        for i in x:
            x[i] = 1
        for i in range(4):
            y[i + n] = 2
        z[0] = 3
        for i in z:
            z[i] += 3
        return z[0]

    assert run(0) == 6
    for field in (x, y, z):
        field.fill(0)
    with pytest.raises(ti.TaichiAssertionError, match="Accessing field \\(y\\)"):
        run(2)
    assert [field.to_numpy().tolist() for field in (x, y, z)] == [[1] * 4, [0, 0, 2, 2], [0] * 4]
    assert run(0) == 6


def test_an_index_known_when_the_kernel_is_compiled_is_an_error_then(world):
    @ti.kernel
    def run():
        world.a[4] = 1.0

    with pytest.raises(ti.TaichiIndexError, match="Index 4 of axis 0 of `a` is out of range"):
        run()
