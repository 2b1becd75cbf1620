"""Pass `rolled_loops`: GLSL says of long loops that they stay loops; short ones, static ones and other targets do not."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def loops(x: ti.types.ndarray(ti.i32, 1), n: ti.i32):
    for i in x:
        s = 0
        for j in range(n):  # unknown
            s += j * i
        for j in range(32):
            s += j ^ i
        for j, l in ti.ndrange(3, 11):  # 33 in all
            s += j * l
        for j in ti.static(range(40)):
            s += j & i
        k = 0
        while k < i and k < 4:
            k += 1
        x[i] = s + k


@pytest.mark.parametrize("n", [0, 1, 70, -3])
def test_results(target: str, n: int) -> None:
    x = np.zeros(37, np.int32)
    loops(x, n)
    ti.sync()
    fixed = sum(j * l for j in range(3) for l in range(11))
    for i, value in enumerate(x.tolist()):
        own = sum(j * i for j in range(n)) + sum(j ^ i for j in range(32)) + sum(j & i for j in range(40))
        assert value == own + fixed + min(i, 4)


def test_only_long_loops_of_glsl_are_marked() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(8, np.int32)
    lines = loops.source(x, 3, arch=ti.vulkan).splitlines()
    marked = [line.strip().removeprefix("[[dont_unroll]] ") for line in lines if "[[dont_unroll]]" in line]
    assert [line[: line.index("{") + 1] for line in marked] == [
        "for (int j = 0; j < args.n; j++) {",
        "for (int j = 0; j < 3; j++) {",
        "for (int l = 0; l < 11; l++) {",
        "while (k < i && k < 4) {",
    ]
    for arch in (ti.cuda, ti.x64):
        assert "dont_unroll" not in loops.source(x, 3, arch=arch)


def test_the_pass_can_be_left_out() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-rolled_loops, -ranges")
    assert "dont_unroll" not in loops.source(np.zeros(8, np.int32), 3, arch=ti.vulkan)
    with pytest.raises(ValueError, match=r"no pass `rolled_loop`.*`rolled_loops`"):
        ti.init(arch=ti.python, log_level=ti.ERROR, passes="-rolled_loop")
