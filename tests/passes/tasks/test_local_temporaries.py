"""Pass `local_temporaries`: what only one serial task uses is a variable of that task."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@ti.kernel
def pick(keep: ti.types.ndarray(ti.i32, 1), n: ti.i32) -> ti.i32:
    count = 0
    for i in keep:
        keep[i] = 1
    ti.loop_config(serialize=True)
    for i in range(n):
        if keep[i] == 1:
            count += 1
            keep[(i * 7) % n] = 0
    return count


@pytest.mark.parametrize("passes", ["", "-local_temporaries"])
def test_a_count(target: str, passes: str) -> None:
    ti.init(arch=getattr(ti, target), log_level=ti.ERROR, enable_fallback=False, passes=passes)
    keep, expected, count = ti.ndarray(ti.i32, 50), np.ones(50, np.int32), 0
    for i in range(50):
        if expected[i]:
            count += 1
            expected[i * 7 % 50] = 0
    assert [pick(keep, 50) for _ in range(2)] == [count, count]
    assert np.array_equal(keep.to_numpy(), expected)
    source = pick.source(keep, 50, arch=ti.cpu)
    assert ("int count = 0;" in source, "struct Temporaries" in source) == (
        (True, False) if not passes else (False, True)
    )


def test_vectors_and_their_elements(target: str) -> None:
    x, y = ti.field(ti.i32, 20), ti.field(ti.i32, 4)

    @ti.kernel
    def sums(n: ti.i32) -> ti.types.vector(3, ti.i32):
        found = ti.Vector([1, 2, 3])
        for i in x:
            x[i] = i
        ti.loop_config(serialize=True)
        for i in range(n):
            found[i % 3] += x[i]
            found += 1
        y[3] = found[1]
        return found

    expected = np.array([1, 2, 3])
    for i in range(11):
        expected[i % 3] += i
        expected += 1
    assert list(sums(11)) == expected.tolist() and y[3] == expected[1]
    assert "struct Temporaries" not in sums.source(11, arch=ti.cpu)


def test_what_a_loop_uses_stays_in_memory(target: str) -> None:
    x = ti.field(ti.i32, 20)

    @ti.kernel
    def shifted() -> ti.i32:
        count = x[3] + 1
        for i in x:
            x[i] = i + count
        count += x[2]
        return count

    assert shifted() == 4 and x[5] == 6
    assert "temporaries->count" in shifted.source(arch=ti.cpu)
