"""Arrays of more than 2^31 elements: on C, CUDA and the interpreter; Vulkan refuses them, and loops say what they can count."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

SHAPE = (2**16, 2**15 + 1)
LAST = (2**16 - 1, 2**15)


@pytest.mark.all_targets
def test_elements_beyond_two_to_the_31(target: str) -> None:
    """Memory is committed where it is touched; on a GPU it is 2 GiB each."""
    if target == "vulkan":
        for make in (ti.field, ti.ndarray):
            with pytest.raises(
                ti.TaichiRuntimeError, match="2147549184 elements, and at most 2147483647 can be indexed"
            ):
                make(ti.i8, SHAPE)
        return
    x, f = ti.ndarray(ti.i8, SHAPE), ti.field(ti.i8, SHAPE)
    x[LAST], f[LAST], x[0, 0] = 5, 6, 1

    @ti.kernel
    def change(y: ti.types.ndarray(), i: ti.i32, j: ti.i32) -> ti.i32:
        for k in range(2):
            f[i - k - 1, j] = ti.cast(y[i, j] + k, ti.i8)
            y[i, j - k - 1] += f[i, j]
        return y[i, j] * 10 + f[i, j]

    assert change(x, *LAST) == 56
    i, j = LAST
    assert [f[i - 1, j], f[i - 2, j], x[i, j - 1], x[i, j - 2], x[0, 0]] == [5, 6, 6, 6, 1]


@pytest.mark.targets("cpu", "cuda", "python")
def test_loops_over_all_elements_are_refused(target: str) -> None:
    if target == "vulkan":
        pytest.skip("there are no such arrays")
    x, f = ti.ndarray(ti.i8, SHAPE), ti.field(ti.i8, SHAPE)

    @ti.kernel
    def over_ndarray(y: ti.types.ndarray()):
        for i, j in y:
            y[i, j] = 1

    @ti.kernel
    def over_field():
        for i, j in f:
            f[i, j] = 1

    for loop, arguments in ((over_ndarray, [x]), (over_field, [])):
        with pytest.raises((OverflowError, ti.TaichiTypeError), match="has 2,?147,?549,?184 iterations"):
            loop(*arguments)


def test_trees_count_up_to_two_to_the_31(target: str) -> None:
    x = ti.field(ti.i8)
    ti.root.dense(ti.ij, (2**12, 2**12)).dense(ti.ij, (16, 9)).place(x)
    with pytest.raises(ti.TaichiRuntimeError, match="2415919104 elements, and at most 2147483647 can be indexed"):
        x[0, 0] = 1


@pytest.mark.exhaustive
@pytest.mark.targets("cpu", "cuda")
def test_copies_of_many_elements(target: str) -> None:
    if target not in ("cpu", "cuda"):
        pytest.skip("slow")
    x, y = ti.ndarray(ti.i8, SHAPE), ti.ndarray(ti.i8, SHAPE)
    x.fill(3)
    x[LAST] = 4
    y.copy_from(x)
    found = y.to_numpy()
    assert found[LAST] == 4 and found[0, 0] == 3 and int(found.sum(dtype=np.int64)) == 3 * 2**16 * (2**15 + 1) + 1
