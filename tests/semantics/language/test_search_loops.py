"""`break` in parallel loops: a parallel search for the first iteration that takes it, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = [pytest.mark.sampled(2), pytest.mark.one_target]  # the rest in `make test-all`


@pytest.mark.parametrize("n", [0, 1, 7, 3000])
def test_the_first_that_fits_is_found(target: str, n: int) -> None:
    if target == "python":
        n = min(n, 60)
    values = np.random.default_rng(n).integers(0, 40, n)
    x, found = ti.ndarray(ti.i32, max(n, 1)), ti.field(ti.i64, 4)
    x.from_numpy(np.append(values, [0])[: max(n, 1)].astype(np.int32))

    @ti.func
    def divides(a: ti.i32, b: ti.i32) -> ti.i32:
        return a % b == 0

    @ti.kernel
    def find(x: ti.types.ndarray(ti.i32, 1), begin: ti.i32, end: ti.i32, divisor: ti.i32) -> ti.i32:
        at = -1
        for i in range(begin, end):
            value = x[i]
            if value < 2:
                continue
            parts = 0
            for k in range(2, 7):
                if divides(value, k):
                    parts += 1
                if parts == 2:
                    break
            if parts > 0 and divides(value, divisor):
                if value > 20:
                    at = i
                    found[0] += value
                    break
        found[1] += 1
        return at

    total, calls = 0, 0
    for begin, end, divisor in ((0, n, 7), (n // 2, n, 11), (0, n, 41), (n, n, 2), (5, 2, 2)):
        fits = [i for i in range(begin, end) if values[i] > 20 and values[i] % divisor == 0
                and any(values[i] % k == 0 for k in range(2, 7))]  # fmt: skip
        assert find(x, begin, end, divisor) == (fits[0] if fits else -1)
        total, calls = total + (values[fits[0]] if fits else 0), calls + 1
    assert found[0] == total and found[1] == calls


def test_the_loop_is_parallel_and_the_rest_serial() -> None:
    ti.init(arch=ti.python)
    x, found = ti.field(ti.f32, 64), ti.field(ti.i32, ())

    @ti.kernel
    def find():
        for i in range(64):
            if x[i] > 0.5:
                found[None] = i
                break

    source = find.source(arch=ti.cuda)
    assert "atomicMin" in source and source.count("__global__") == 3


MISTAKES = {
    "a store before": "for i in range(3):\n        x[i] = 1\n        if x[i] > 1:\n            break",
    "a store in the other branch": "for i in range(3):\n        if x[i] > 1:\n            break\n        else:\n            x[i] = 1",
    "a count outside": "for i in range(3):\n        n += 1\n        if x[i] > 1:\n            break",
    "a print": "for i in range(3):\n        print(i)\n        if x[i] > 1:\n            break",
    "a random number": "for i in range(3):\n        if ti.random() > 0.5:\n            break",
    "two indices": "for i, j in ti.ndrange(2, 2):\n        if i + j > 1:\n            break",
    "a field": "for i in x:\n        if x[i] > 1:\n            break",
    "another step": "for i in range(0, 3, 2):\n        if x[i] > 1:\n            break",
    "a continue on the way": "for i in range(3):\n        if x[i] > 1:\n            x[i] = 0\n            if x[0] == 0:\n"
    "                continue\n            break",
    "a store in an inner loop": "for i in range(3):\n        for k in range(2):\n            x[k] += 1\n        if i == 2:\n"
    "            break",
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_else_is_done_is_refused(mistake: str, tmp_path) -> None:
    ti.init(arch=ti.python)
    path = tmp_path / "program.py"
    path.write_text(f"@ti.kernel\ndef run():\n    n = 0\n    {MISTAKES[mistake]}\n    x[0] = n\n")
    scope = {"ti": ti, "x": ti.field(ti.i32, 3)}
    exec(compile(path.read_text(), path, "exec"), scope)
    with pytest.raises(ti.TaichiSyntaxError, match="Cannot break in the outermost loop"):
        scope["run"]()


def test_a_long_loop_under_an_if_warns() -> None:
    ti.init(arch=ti.python)
    x, short = ti.field(ti.i32, 5000), ti.field(ti.i32, 5)

    @ti.kernel
    def fill(flag: ti.i32, n: ti.i32):
        if flag > 0:
            for i in x:
                x[i] = 1
        if flag > 1:
            for i in short:
                short[i] = 2
        if flag > 2:
            ti.loop_config(serialize=True)
            for i in range(n):
                x[i] = 3
        if ti.static(True):
            for i in range(n):
                if i < 3:
                    for k in range(n):
                        x[k] = 4

    with pytest.warns(ti.ShadesmithWarning, match="runs on one thread") as warned:
        fill(0, 0)
    assert len(warned) == 1 and "for i in x:" in str(warned[0].message)
