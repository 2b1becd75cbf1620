"""Serial tasks and blocks that do not fill a subgroup: loops end when the thread says so, whatever idle lanes do.

lavapipe of Mesa 22.3 let a lane that is no thread keep a loop alive: it reads zeros, so a loop over an inactive cell, or
one whose condition reads memory, went on to the driver's limit of 65,535, and all later loops ended at once.
"""

import numpy as np
import pytest

import shadesmith as ti

COUNT = 40


def cells(form: str) -> tuple[ti.SNode, ti.Field]:
    """Return the node with the cells of a field of 256 elements, and the field."""
    x = ti.field(ti.i32)
    if form == "pointer":
        node = ti.root.pointer(ti.i, 256)
    elif form == "nested pointers":
        node = ti.root.pointer(ti.i, 16).pointer(ti.i, 4).pointer(ti.i, 4)
    elif form == "pointer of bitmasked":
        node = ti.root.pointer(ti.i, 16).bitmasked(ti.i, 16)
    elif form == "bitmasked":
        node = ti.root.bitmasked(ti.i, 256)
    elif form == "dynamic":
        node = ti.root.dynamic(ti.i, 256, chunk_size=4)
    else:
        node = ti.root.pointer(ti.i, 4).dynamic(ti.j, 64, chunk_size=8)
    node.place(x)
    return node, x


FORMS = ["pointer", "nested pointers", "pointer of bitmasked", "bitmasked", "dynamic"]


@pytest.mark.parametrize("form", FORMS)
def test_serial_loop_activates_cells(target: str, form: str) -> None:
    _, x = cells(form)
    seen = ti.field(ti.i32, COUNT)

    @ti.kernel
    def fill(n: ti.i32):
        j = 0
        while j < n:
            seen[j] = j + 1
            x[j * 5] = j + 7
            j += 1

    fill(COUNT)
    np.testing.assert_array_equal(seen.to_numpy(), np.arange(COUNT) + 1)
    found = x.to_numpy()
    np.testing.assert_array_equal(found[: 5 * COUNT : 5], np.arange(COUNT) + 7)
    assert np.count_nonzero(found) == COUNT


@pytest.mark.parametrize("form", ["pointer", "nested pointers", "bitmasked"])
def test_serial_loop_deactivates_and_activates_again(target: str, form: str) -> None:
    node, x = cells(form)

    @ti.kernel
    def fill(n: ti.i32, value: ti.i32):
        j = 0
        while j < n:
            x[j] = value
            j += 1

    @ti.kernel
    def clear(n: ti.i32) -> ti.i32:
        j = cleared = 0
        while j < n:
            if ti.is_active(node, [j]):
                cleared += 1
            ti.deactivate(node, [j])
            j += 2
        return cleared

    fill(COUNT, 3)
    assert clear(COUNT) == COUNT // 2
    expected = np.where(np.arange(COUNT) % 2, 3, 0)
    np.testing.assert_array_equal(x.to_numpy()[:COUNT], expected)
    fill(COUNT, 5)
    np.testing.assert_array_equal(x.to_numpy()[:COUNT], np.full(COUNT, 5))


@pytest.mark.parametrize("form", ["dynamic", "pointer of dynamic"])
def test_serial_loop_appends(target: str, form: str) -> None:
    node, x = cells(form)
    lists = [[]] if form == "dynamic" else [[0], [3]]

    @ti.kernel
    def append(n: ti.i32) -> ti.i32:
        j = 0
        while j < n:
            for outer in ti.static(lists):
                ti.append(node, outer, j + 9)
            j += 1
        return ti.length(node, lists[-1])

    assert append(COUNT) == COUNT
    assert append(0) == COUNT
    found = x.to_numpy() if form == "dynamic" else x.to_numpy()[3]
    np.testing.assert_array_equal(found[:COUNT], np.arange(COUNT) + 9)


@pytest.mark.parametrize("block_dim", [1, 4, 12, 32])
def test_parallel_loop_with_small_blocks(target: str, block_dim: int) -> None:
    _, x = cells("nested pointers")
    rounds = ti.field(ti.i32, 10)

    @ti.kernel
    def fill(n: ti.i32):
        ti.loop_config(block_dim=block_dim)
        for t in range(10):
            j = 0
            while j < n:
                x[t * 25 + j * 5] = t + 1
                rounds[t] += 1
                j += 1

    fill(5)
    np.testing.assert_array_equal(rounds.to_numpy(), np.full(10, 5))
    np.testing.assert_array_equal(x.to_numpy()[:250:5], np.repeat(np.arange(10) + 1, 5))


@pytest.mark.parametrize("block_dim", [0, 4, 12])
def test_condition_of_loop_reads_memory(target: str, block_dim: int) -> None:
    """block_dim: 0 for a serial task."""
    x, total = ti.field(ti.i32, 10), ti.field(ti.f64, ())

    @ti.func
    def climb(t: ti.i32, n: ti.i32):
        j = 0
        while j < n:
            x[t] = 0
            while x[t] < 5:
                x[t] += 1
            total[None] += 0.5
            j += 1

    @ti.kernel
    def run(n: ti.i32):
        if ti.static(block_dim > 0):
            ti.loop_config(block_dim=block_dim)
            for t in range(10):
                climb(t, n)
        else:
            t = 0
            while t < 10:
                climb(t, n)
                t += 1

    run(11)
    np.testing.assert_array_equal(x.to_numpy(), np.full(10, 5))
    assert total[None] == 55.0


@pytest.mark.parametrize("kind", ["dense", "bitmasked"])
def test_a_loop_over_the_cells_of_an_inner_node(target: str, kind: str) -> None:
    outer = getattr(ti.root, kind)(ti.i, 4)
    inner = getattr(outer, kind)(ti.i, 4)
    x, total = ti.field(ti.i32), ti.field(ti.i32, 2)
    inner.place(x)

    @ti.kernel
    def visit():
        for i in range(7):
            x[2 * i] = i
        for i in inner:
            total[0] += i
        for i in outer:
            total[1] += i

    visit()
    assert total.to_numpy().tolist() == [sum(range(16)) if kind == "dense" else 42, 6]
