"""Pass `rejoined_threads`: CUDA C hides conditions that loops with `break` decide; results are those of the program."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

Array = ti.types.ndarray(ti.i32, 1)


@ti.kernel
def search(x: Array, out: Array, wanted: ti.i32):
    for i in out:
        found, at = False, -1
        for j in range(x.shape[0]):
            if x[j] * (i + 1) % 17 == wanted:
                found = True
                at = j
                break
        if found:
            s = 0
            for k in range(at):
                s += x[k] ^ k
            out[i] = s
        else:
            out[i] = -at
        if at >= 0:
            for k in range(3):
                out[i] += k * at


def expected(x: list[int], n: int, wanted: int) -> list[int]:
    result = []
    for i in range(n):
        at = next((j for j, value in enumerate(x) if value * (i + 1) % 17 == wanted), -1)
        result.append(1 if at < 0 else sum(value ^ k for k, value in enumerate(x[:at])) + 3 * at)
    return result


@pytest.mark.parametrize("wanted", [0, 5, 16, 17])
def test_results(target: str, wanted: int) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR)
    numbers = [(7 * k + 3) % 29 for k in range(40)]
    out = np.zeros(70, np.int32)
    search(np.array(numbers, np.int32), out, wanted)
    ti.sync()
    assert out.tolist() == expected(numbers, 70, wanted)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = np.zeros(4, np.int32)
    source = search.source(x, x, 1, arch=ti.cuda)
    assert "if (rejoined(found)) {" in source and "if (rejoined(at >= 0)) {" in source
    assert 'asm("" : "+r"(hidden));' in source
    assert "rejoined(" not in search.source(x, x, 1, arch=ti.vulkan)
    assert "rejoined(" not in search.source(x, x, 1, arch=ti.x64)


def test_conditions_that_stay() -> None:
    """No loop that decides them ends by `break`, or they are of few statements."""
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def others(x: Array, n: ti.i32):
        for i in x:
            s, t = 0, 0
            for j in range(n):
                s += x[j]
            if s > 3:
                for k in range(n):
                    t += k * s
            for j in range(n):
                if x[j] > s:
                    t = j
                    break
            if t > 5:
                s += 1
            if n > 5:
                for k in range(n):
                    s += k
            for j in range(n):
                for k in range(j):  # whose `break` is its own
                    if x[k] > j:
                        break
                s += j
            if s > 100:
                for k in range(n):
                    t ^= k
            x[i] = s + t

    assert "rejoined(" not in others.source(np.zeros(4, np.int32), 3, arch=ti.cuda)
