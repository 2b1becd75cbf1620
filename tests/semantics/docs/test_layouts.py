"""The examples of Taichi's documentation of layouts: "Fields (advanced)" and "Coordinate offsets"."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


def test_fields_as_shapes_and_as_nodes_are_the_same(target: str) -> None:
    zero, one, two = ti.field(ti.f32), ti.field(ti.f32), ti.field(ti.f32)
    ti.root.place(zero)
    ti.root.dense(ti.i, 3).place(one)
    ti.root.dense(ti.ij, (3, 4)).place(two)
    assert [field.shape for field in (zero, one, two)] == [(), (3,), (3, 4)]
    nested, wide = ti.field(ti.f32), ti.Matrix.field(2, 2, ti.f32)
    ti.root.dense(ti.i, 3).dense(ti.j, 4).place(nested)
    ti.root.dense(ti.i, 5).dense(ti.jk, (2, 3)).place(wide)
    assert nested.shape == (3, 4) and wide.shape == (5, 2, 3)


def test_row_major_and_column_major(target: str) -> None:
    M, N = 3, 2
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, M).dense(ti.j, N).place(x)
    ti.root.dense(ti.j, N).dense(ti.i, M).place(y)
    by_order = ti.field(ti.i32, shape=(M, N), order="ji")

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i * 10 + j
        for i, j in y:
            y[i, j] = i * 10 + j
        for i, j in by_order:
            by_order[i, j] = y[i, j]

    fill()
    for field in (x, y, by_order):
        np.testing.assert_array_equal(field.to_numpy(), [[0, 1], [10, 11], [20, 21]])


def test_loops_follow_columns(target: str) -> None:
    # As in the documentation: the outer loop runs in parallel over the slow axis, the inner one over the fast one.
    M, N = 4, 3
    y = ti.field(ti.f32)
    ti.root.dense(ti.j, N).dense(ti.i, M).place(y)

    @ti.kernel
    def sum_columns() -> ti.f32:
        total = 0.0
        for j in range(N):
            for i in range(M):
                total += y[i, j] * (j + 1)
        return total

    y.from_numpy(np.arange(12, dtype=np.float32).reshape(M, N))
    assert sum_columns() == sum((i * N + j) * (j + 1) for i in range(M) for j in range(N))


@pytest.mark.parametrize("is_struct_of_arrays", [True, False])
def test_springs_move_alike_in_both_layouts(target: str, is_struct_of_arrays: bool) -> None:
    N = 64
    pos, vel = ti.field(ti.f32), ti.field(ti.f32)
    if is_struct_of_arrays:
        ti.root.dense(ti.i, N).place(pos)
        ti.root.dense(ti.i, N).place(vel)
    else:
        ti.root.dense(ti.i, N).place(pos, vel)

    @ti.kernel
    def step(dt: ti.f32):
        for i in pos:
            pos[i] += vel[i] * dt
            vel[i] += -1.0 * pos[i] * dt

    pos.from_numpy(np.linspace(0, 1, N, dtype=np.float32))
    x, v = np.linspace(0, 1, N, dtype=np.float32), np.zeros(N, np.float32)
    for _ in range(5):
        step(0.125)
        x = x + v * np.float32(0.125)
        v = v - x * np.float32(0.125)
    np.testing.assert_allclose(pos.to_numpy(), x, rtol=1e-6)
    np.testing.assert_allclose(vel.to_numpy(), v, rtol=1e-6)


def test_fields_of_two_places_share_a_node(target: str) -> None:
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    node = ti.root.dense(ti.i, 3)
    node.place(x)
    node.place(y)
    assert node._cell_size_bytes == 8 and y.parent() is node and y.snode._offset_bytes_in_parent_cell == 4


def test_hierarchical_blocks_of_an_image(target: str) -> None:
    val = ti.field(ti.f32)
    block = ti.root.dense(ti.ij, (4, 4))
    block.dense(ti.ij, (8, 8)).place(val)

    @ti.kernel
    def blur() -> ti.f32:
        total = 0.0
        for i, j in val:
            val[i, j] = i + j
        for i, j in val:
            if 0 < i < 31 and 0 < j < 31:
                total += val[i - 1, j] + val[i + 1, j] + val[i, j - 1] + val[i, j + 1]
        return total

    assert val.shape == (32, 32)
    assert blur() == sum(4 * (i + j) for i in range(1, 31) for j in range(1, 31))
    np.testing.assert_array_equal(val.to_numpy(), np.add.outer(np.arange(32), np.arange(32)))


def test_fields_of_one_cell_of_different_depths(target: str) -> None:
    # A cell with a number of its own and an array behind it, as the documentation's trees of mixed depth.
    count, cells = ti.field(ti.i32), ti.Vector.field(3, ti.f32)
    grid = ti.root.dense(ti.ij, (3, 3))
    grid.place(count)
    grid.dense(ti.k, 4).place(cells)

    @ti.kernel
    def insert():
        for n in range(30):
            slot = ti.atomic_add(count[n % 3, n // 3 % 3], 1)
            if slot < 4:
                cells[n % 3, n // 3 % 3, slot] = [n % 3, n // 3 % 3, 1]

    insert()
    assert count.to_numpy().sum() == 30 and cells.shape == (3, 3, 4)
    found = cells.to_numpy()
    assert found[..., 2].sum() == 30 and found[2, 1, 0].tolist() == [2, 1, 1]


def test_memory_is_managed_by_builders(target: str) -> None:
    @ti.kernel
    def func(v: ti.template()):
        for I in ti.grouped(v):
            v[I] += 1

    fb1 = ti.FieldsBuilder()
    x = ti.field(dtype=ti.f32)
    fb1.dense(ti.ij, (5, 5)).place(x)
    fb1_snode_tree = fb1.finalize()
    func(x)
    assert x[4, 4] == 1
    fb1_snode_tree.destroy()

    fb2 = ti.FieldsBuilder()
    y = ti.field(dtype=ti.f32)
    fb2.dense(ti.i, 5).place(y)
    fb2_snode_tree = fb2.finalize()
    func(y)
    assert y[4] == 1
    fb2_snode_tree.destroy()


def test_coordinate_offsets(target: str) -> None:
    a = ti.Matrix.field(2, 2, dtype=ti.f32, shape=(32, 64), offset=(-16, 8))

    @ti.kernel
    def corners():
        a[-16, 8] = ti.Matrix([[1, 2], [3, 4]])
        a[15, 8] = ti.Matrix([[5, 6], [7, 8]])
        a[-16, 71] = ti.Matrix([[9, 10], [11, 12]])
        a[15, 71] = ti.Matrix([[13, 14], [15, 16]])

    corners()
    values = a.to_numpy()
    assert values.shape == (32, 64, 2, 2)
    assert [values[i, j, 1, 1] for i, j in ((0, 0), (31, 0), (0, 63), (31, 63))] == [4, 8, 12, 16]
    assert a[15, 71][0, 1] == 14
    for arguments in ({"shape": (32,), "offset": (-16,)}, {"shape": 32, "offset": 16}, {"shape": (), "offset": ()}):
        assert ti.Matrix.field(2, 3, dtype=ti.f32, **arguments).shape in ((32,), ())
    for arguments in ({"shape": (32,), "offset": (32, 64)}, {"shape": None, "offset": (32,)}):
        with pytest.raises(ti.TaichiSyntaxError):
            ti.Matrix.field(2, 3, dtype=ti.f32, **arguments)


def test_a_loop_over_a_moved_field_gives_its_own_indices(target: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.ij, (4, 8)).place(x, offset=(-2, 3))
    ti.root.dense(ti.ij, (2, 4)).dense(ti.ij, 2).place(y, offset=(-2, 3))

    @ti.kernel
    def fill():
        for i, j in x:
            x[i, j] = i * 100 + j
        for i, j in y:
            y[i, j] = x[i, j]

    fill()
    np.testing.assert_array_equal(x.to_numpy(), np.add.outer(np.arange(-2, 2) * 100, np.arange(3, 11)))
    np.testing.assert_array_equal(y.to_numpy(), x.to_numpy())


def test_nodes_know_their_parents_and_shapes(target: str) -> None:
    x = ti.field(ti.i32)
    blk1 = ti.root.dense(ti.ij, (2, 3))
    blk2 = blk1.dense(ti.ij, (4, 5))
    blk2.place(x)
    assert (blk1.shape, blk2.shape, x.snode.shape) == ((2, 3), (8, 15), (8, 15))
    assert x.parent() is blk2 and x.parent(2) is blk1 and x.parent(3) is ti.root and x.parent(4) is None
    assert x.snode.parent() is blk2 and x.snode.parent(2) is blk1 and blk2.parent() is blk1
    assert x.snode.name == x.name == ""
