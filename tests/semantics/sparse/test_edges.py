"""Sparse trees of unusual shapes, and what unusual kernels do with them."""

import numpy as np
import pytest

import shadesmith as ti


def test_items_stored_to_out_of_order_have_no_holes(target: str) -> None:
    """A store to item 9 makes a list 10 items long; the chunks of those before have no memory yet."""
    x = ti.field(ti.i32)
    ti.root.dense(ti.i, 3).dynamic(ti.j, 20, chunk_size=4).place(x)

    @ti.kernel
    def grow():
        for i, j in x:
            x[i, j] += 1

    @ti.kernel
    def look() -> ti.i32:
        found = 0
        for i, j in x:
            found += x[i, j]
        return found

    x[0, 9] = 5
    assert look() == 5
    grow()
    assert x.to_numpy()[0].tolist() == [1] * 9 + [6] + [0] * 10 and x[0, 15] == x[2, 3] == 0
    x[1, 6] = 5
    x.fill(3)
    assert x.to_numpy().tolist() == [[3] * 10 + [0] * 10, [3] * 7 + [0] * 13, [0] * 20]


def test_lists_take_an_axis_of_their_own(target: str) -> None:
    with pytest.raises(ti.TaichiRuntimeError, match="Dynamic SNode must have a standalone dimensionality"):
        ti.root.pointer(ti.ij, 2).dynamic(ti.j, 8)


def test_indices_are_any_expression(target: str) -> None:
    """What an index is written as is one operand of what the text makes of it."""
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    items = ti.root.dense(ti.i, 4).dynamic(ti.j, 8, chunk_size=4)
    items.place(x)
    bits = ti.root.pointer(ti.i, 4).bitmasked(ti.j, 4)
    bits.place(y)
    for i in range(4):
        for j in range(2 * i + 1):
            x[i, j] = 10 * i + j
    y[2, 1], y[1, 0] = 1, 1

    @ti.kernel
    def read(i: ti.i32, j: ti.i32) -> ti.i32:
        return x[i + 1, j + 1] * 10 + ti.length(items, i | j & 1)

    @ti.kernel
    def active(i: ti.i32, j: ti.i32) -> ti.i32:
        return ti.is_active(bits, [i + 1, j & 1]) + 10 * ti.is_active(bits, [i if j > 0 else 3, i - 1 if j > 1 else 3])

    values = np.array([[10 * i + j if j <= 2 * i else 0 for j in range(8)] for i in range(4)])
    assert [read(i, j) for i in range(3) for j in range(7)] == [
        values[i + 1, j + 1] * 10 + 2 * (i | j & 1) + 1 for i in range(3) for j in range(7)
    ]
    assert [active(1, 3), active(1, 2), active(2, 1), active(1, 0)] == [11, 10, 0, 0]


@pytest.mark.parametrize("top", ["dense", "pointer", "bitmasked"])
def test_nodes_of_all_kinds_in_one_cell(target: str, top: str) -> None:
    a, b, c, d = (ti.field(ti.i32) for _ in range(4))
    node = getattr(ti.root, top)(ti.i, 3)
    node.pointer(ti.j, 4).place(a)
    node.bitmasked(ti.j, 4).place(b)
    node.place(c)
    items = node.dynamic(ti.j, 8, chunk_size=4)
    items.place(d)

    @ti.kernel
    def run():
        for i in range(3):
            c[i] = i
            a[i, i + 1] = 10 * i
            b[i, 3 - i] = 5
            for k in range(i):
                ti.append(items, i, k + 1)
        for i in c:
            c[i] += 7
        for i, j in a:
            b[i, j] += 1

    run()
    assert c.to_numpy()[:3].tolist() == [7, 8, 9]
    assert a.to_numpy()[:3].tolist() == [[0, 0, 0, 0], [0, 0, 10, 0], [0, 0, 0, 20]]
    assert b.to_numpy()[:3].tolist() == [[0, 1, 0, 5], [0, 0, 6, 0], [0, 5, 0, 1]]
    assert d.to_numpy()[:3, :3].tolist() == [[0, 0, 0], [1, 0, 0], [1, 2, 0]]
    c[1] = 4
    c.fill(6)
    assert c[1] == c[2] == 6


def test_a_real_function_that_only_deactivates(target: str) -> None:
    x = ti.field(ti.i32)
    block = ti.root.pointer(ti.i, 4)
    block.dense(ti.i, 2).place(x)

    @ti.real_func
    def free(i: ti.i32):
        ti.deactivate(block, i)

    @ti.real_func
    def is_there(i: ti.i32) -> ti.i32:
        return ti.is_active(block, i)

    @ti.kernel
    def run() -> ti.i32:
        found = 0
        for i in range(1):
            free(0)
        for i in range(4):
            found += is_there(i) << i
        return found

    x[1], x[5] = 3, 4
    assert run() == 4 and x.to_numpy().tolist() == [0] * 5 + [4, 0, 0]


def test_nodes_of_one_cell(target: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    bits = ti.root.pointer(ti.j, 2).bitmasked(ti.i, 1)
    bits.place(x)
    ti.root.pointer(ti.ij, 1).bitmasked(ti.ij, 1).pointer(ti.i, 1).dynamic(ti.k, 1).place(y)

    @ti.kernel
    def run() -> ti.i32:
        for i, j in x:
            x[i, j] += 1
        for i, j, k in y:
            y[i, j, k] += 1
        return ti.is_active(bits, [0, 1]) + 2 * ti.is_active(bits, [0, 0])

    x[0, 1], y[0, 0, 0] = 3, 4
    assert run() == 1 and x[0, 1] == 4 and y[0, 0, 0] == 5


@pytest.mark.parametrize("kind", ["pointer", "bitmasked", "dynamic"])
def test_a_copy_activates_all_cells(target: str, kind: str) -> None:
    """As in Taichi, which runs over all indices."""
    x, y, z = ti.field(ti.i32), ti.field(ti.f32, 8), ti.field(ti.i32)
    node = ti.root.dynamic(ti.i, 8, chunk_size=2) if kind == "dynamic" else getattr(ti.root, kind)(ti.i, 8)
    node.place(x)
    other = ti.root.pointer(ti.i, 4)
    other.dense(ti.i, 2).place(z)
    z[2], x[0] = 5, 9
    x.copy_from(z)
    assert x.to_numpy().tolist() == [0, 0, 5, 0, 0, 0, 0, 0]
    y.fill(1)
    y.copy_from(x)
    assert y.to_numpy().tolist() == x.to_numpy().tolist()
    for i in range(8):
        y[i] = i
    z.copy_from(y)
    assert z.to_numpy().tolist() == list(range(8)) and other.num_dynamically_allocated == 4
    count = ti.field(ti.i32, ())

    @ti.kernel
    def run():
        for i in x:
            count[None] += 1

    run()
    assert count[None] == 8


def test_an_element_is_read_again_after_it_was_activated(target: str) -> None:
    """Both reads are one pointer in the IR; the interpreter took the cell of the first for the second."""
    x = ti.field(ti.i64)
    ti.root.pointer(ti.i, 20).dense(ti.i, 1).place(x)
    seen = ti.field(ti.i64, 20)

    @ti.kernel
    def activate() -> None:
        for i in range(20):
            if x[i] < 1 and i % 3 != 0:
                x[i] += i
            seen[i] = x[i]

    activate()
    assert seen.to_numpy().tolist() == [i if i % 3 else 0 for i in range(20)]
