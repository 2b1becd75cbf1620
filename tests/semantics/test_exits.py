"""Bodies that are left in many places. lavapipe nests what follows each of them, and follows 80 nested conditions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

EXITS = 90


def exits(head: str, exit: str, end: str) -> str:
    """Return a function that is left in one of many places."""
    return (
        head + "".join(f"    if i == {3 * k}:\n        {exit.format(k)}\n    x[i] += 1\n" for k in range(EXITS)) + end
    )


def expected(n: int) -> list[int]:
    return [i // 3 if i % 3 == 0 and i < 3 * EXITS else EXITS for i in range(n)]


def test_many_turns_that_end_early(target: str, define_kernel: Any) -> None:
    text = exits("def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):\n  for i in range(x.shape[0]):\n", "continue", "")
    x = np.zeros(3 * EXITS + 10, np.int32)
    define_kernel(text)(x)
    ti.sync()
    assert x.tolist() == expected(len(x))


def test_many_returns_of_a_function(target: str, define_program: Any) -> None:
    head = "@ti.real_func\ndef f(i: ti.i32, x: ti.types.ndarray(dtype=ti.i32, ndim=1)) -> ti.i32:\n"
    text = exits(head, "return {}", "    return -1\n")
    text += """@ti.kernel
def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1), y: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in range(x.shape[0]):
        y[i] = f(i, x)
"""
    x, y = np.zeros(3 * EXITS + 10, np.int32), np.zeros(3 * EXITS + 10, np.int32)
    define_program(text)["k"](x, y)
    ti.sync()
    assert x.tolist() == expected(len(x))
    assert y.tolist() == [i // 3 if i % 3 == 0 and i < 3 * EXITS else -1 for i in range(len(y))]


def test_checks_beside_many_exits(target: str, define_kernel: Any) -> None:
    ti.init(arch=getattr(ti, target), check_out_of_bound=True, log_level=ti.ERROR)
    head = "def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1), s: ti.i32):\n  for i in range(x.shape[0]):\n"
    text = exits(head, "continue", "".join(f"    x[s + {k}] += 0\n" for k in range(8)))
    x = np.zeros(3 * EXITS + 10, np.int32)
    kernel = define_kernel(text)
    kernel(x, 1)
    ti.sync()
    assert x.tolist() == expected(len(x))
    with pytest.raises(ti.TaichiAssertionError) as caught:
        kernel(x, len(x) - 5)
    assert caught.value.index == (len(x),)


def test_many_continues_of_a_serial_loop(target: str, define_kernel: Any) -> None:
    body = "".join(f"      if i == {k}:\n        continue\n      x[i] += 1\n" for k in range(EXITS))
    head = "def k(x: ti.types.ndarray(dtype=ti.i32, ndim=1)):\n  for i in range(x.shape[0]):\n    for _ in range(2):\n"
    x = np.zeros(EXITS + 10, np.int32)
    kernel = define_kernel(head + body)
    if sessions.CURRENT.device.capabilities.branch_depth_limit is not None:
        with pytest.raises(ti.TaichiCompilationError, match="nest more than"):
            kernel(x)
        return
    kernel(x)
    ti.sync()
    assert x.tolist() == [2 * min(i, EXITS) for i in range(len(x))]
