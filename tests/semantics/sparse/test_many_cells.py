"""Trees of more than 2^31 possible cells: those below a pool are numbered as they come alive."""

from __future__ import annotations

import pytest

import shadesmith as ti


@pytest.mark.exhaustive
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_cells_beyond_two_to_the_31(target: str) -> None:
    if target == "python":
        pytest.skip("a loop visits a million cells")
    x, out, n = ti.field(ti.i32), ti.field(ti.i32, (8, 3)), ti.field(ti.i32, ())
    outer = ti.root.pointer(ti.ij, 2**7)
    inner = outer.pointer(ti.ij, 2**9)  # 2^32 cells
    inner.dense(ti.ij, 4).place(x)
    last = 2**18 - 1

    @ti.kernel
    def store():
        x[last, last] = 1
        x[3, 2**17] = 2
        x[2**17, 5] += 3

    @ti.kernel
    def collect():
        for i, j in x:
            if x[i, j] != 0:
                k = ti.atomic_add(n[None], 1)
                for c, value in ti.static(enumerate((i, j, x[i, j]))):
                    out[k, c] = value

    @ti.kernel
    def blocks() -> ti.i32:
        total = 0
        for i, j in inner:
            total += i + 3 * j
        return total

    store()
    collect()
    assert sorted(out.to_numpy()[: n[None]].tolist()) == [[3, 2**17, 2], [2**17, 5, 3], [last, last, 1]]
    assert blocks() == 4 * (last // 4) + 3 * 2**15 + 2**15 + 3
    assert x[last, last] == 1 and x[last - 4, last] == 0
    outer.deactivate_all()
    collect()
    assert n[None] == 3 and blocks() == 0


def test_what_is_counted_is_limited() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for tree, message in (
        (lambda: ti.root.pointer(ti.ij, 2**16), "4294967296 cells, and at most 2147483647 can be numbered"),
        (lambda: ti.root.pointer(ti.i, 2**16).pointer(ti.i, 2**16), "4294967296 cells, .* along an axis"),
        (lambda: ti.root.pointer(ti.i, 2**16).dynamic(ti.j, 2**20), "68719476736 cells, and at most 2147483647"),
    ):
        x = ti.field(ti.i32)
        tree().place(x)
        with pytest.raises(ti.TaichiRuntimeError, match=message):
            x[(0,) * len(x.shape)] = 1
        ti.reset()
        ti.init(arch=ti.python, log_level=ti.ERROR)
