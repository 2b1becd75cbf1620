"""`debug=True` tells of integers that leave their type on standard error, as Taichi does, and the program goes on."""

from __future__ import annotations

import numpy as np
import pytest
from overflows import INTEGERS, edges

import shadesmith as ti

TITLES = {"+": "Addition", "-": "Subtraction", "*": "Multiplication", "<<": "Shift left"}


@pytest.fixture(autouse=True)
def debugging(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, enable_fallback=False, log_level=ti.WARN)


def messages(capfd: pytest.CaptureFixture[str]) -> list[str]:
    ti.sync()
    return [line for line in capfd.readouterr().err.splitlines() if "overflow" in line or "times" in line]


@ti.kernel
def all_four(a: ti.types.ndarray(), b: ti.types.ndarray(), out: ti.types.ndarray()):
    for i in a:
        out[i, 0] = a[i] + b[i]
        out[i, 1] = a[i] - b[i]
        out[i, 2] = a[i] * b[i]
        out[i, 3] = a[i] << b[i]


@pytest.mark.parametrize("kind", INTEGERS)
def test_each_operation_tells_where_it_leaves_its_type(
    target: str, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    values = edges(kind)
    a, b = (part.ravel() for part in np.meshgrid(values, values, indexing="ij"))
    b[1::2] = b[1::2] % values.dtype.type(np.iinfo(values.dtype).bits)
    info, out = np.iinfo(values.dtype), np.zeros((len(a), 4), values.dtype)
    all_four(a, b, out)
    found = messages(capfd)
    expected = {}
    for x, y in zip(a.tolist(), b.tolist(), strict=True):
        results = {"+": x + y, "-": x - y, "*": x * y, "<<": x << y if 0 <= y < info.bits else info.max + 1}
        for symbol, result in results.items():
            expected[symbol] = expected.get(symbol, 0) + (not info.min <= result <= info.max)
    for symbol, count in expected.items():
        at = next(
            (k for k, line in enumerate(found) if line.startswith(f"{TITLES[symbol]} overflow detected in")), None
        )
        assert (at is not None) == (count > 0)
        if at is not None and count > 1:
            assert found[at + 1] == f"({count} times in this launch)"
    with np.errstate(over="ignore"):
        assert (out[:, 0] == a + b).all() and (out[:, 2] == a * b).all()


def test_the_text_is_taichis_and_the_program_goes_on(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.func
    def double(n):
        return n * 2

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        print("before")
        m = double(n)
        assert m == -2
        return m + 1

    assert run(2**31 - 1) == -1
    ti.sync()
    shown = capfd.readouterr()
    assert shown.out == "before\n"
    assert (
        "Multiplication overflow detected in File " in shown.err and "in double:\n        return n * 2\n" in shown.err
    )
    assert run(-1) == -1 and not messages(capfd)


def test_what_taichi_does_not_look_at_is_not_told(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    total = ti.field(ti.i32, 2)

    @ti.kernel
    def run(n: ti.i32, x: ti.f32) -> ti.i32:
        for _ in range(2):
            total[0] += n
        lowest = ti.min(-n - 1, 0)
        return -lowest + abs(lowest) + ti.cast(x, ti.i16) // 2 if n < 0 else n

    assert run(2**31 - 1, 1e4) == 2**31 - 1
    assert total[0] == -2 and not messages(capfd)


def test_local_variables_vectors_and_matrices(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    total = ti.field(ti.i32, 4)

    @ti.kernel
    def run(n: ti.i32):
        x = n
        for i in range(3):
            x += i
        v = ti.Vector([1, n]) + n
        w = ti.Matrix([[n, 1], [1, n]]) @ ti.Vector([1, n])
        total[0], total[1], total[2], total[3] = x, v[1], w[0], ti.Vector([n, n, 1]).sum()

    run(2**31 - 1)
    found = messages(capfd)
    names = [line.split(" overflow")[0] for line in found if "overflow" in line]
    assert names == ["Addition", "Addition", "Matrix product", "Sum"]
    assert total.to_numpy().tolist() == [-(2**31) + 2, -2, -2, -1]


def test_the_lines_of_loops_and_branches_are_theirs(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.real_func
    def add(a: ti.i32, b: ti.i32) -> ti.i32:
        return a + b

    @ti.kernel
    def run(n: ti.i32, out: ti.types.ndarray(ti.i32, 1)):
        for i in out:
            if i % 2:
                out[i] = add(n, i)
            else:
                out[i] = n

    out = np.zeros(8, np.int32)
    run(2**31 - 4, out)
    found = messages(capfd)
    assert len(found) == 2 and found[0].endswith("in add:") and found[1] == "(2 times in this launch)"
    assert out[5] == 1 - 2**31 and out[6] == 2**31 - 4


def test_gradients_are_as_without_it(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    x, y = ti.field(ti.f32, 4, needs_grad=True), ti.field(ti.f32, (), needs_grad=True)

    @ti.kernel
    def run(n: ti.i32):
        for i in x:
            scale = 1.0
            if n + i < 0:
                scale = 3.0
            y[None] += x[i] * scale * i

    with ti.ad.Tape(y):
        run(2**31 - 3)
    assert x.grad.to_numpy().tolist() == [0, 1, 2, 9]
    assert "Addition overflow detected in" in messages(capfd)[0]


def test_check_overflow_stops_instead(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=getattr(ti, target), debug=True, check_overflow=True, enable_fallback=False, log_level=ti.WARN)

    @ti.kernel
    def run(n: ti.i32) -> ti.i32:
        return n + 1

    with pytest.raises(ti.TaichiAssertionError, match="Addition overflow detected"):
        run(2**31 - 1)
    assert not messages(capfd)


def test_kernels_of_our_library_wrap_in_silence(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    keys = ti.ndarray(ti.i32, 33)
    values = np.random.default_rng(0).integers(-(2**31), 2**31, 33).astype(np.int32)
    keys.from_numpy(values)
    ti.algorithms.parallel_sort(keys)
    assert (keys.to_numpy() == np.sort(values)).all() and not messages(capfd)
