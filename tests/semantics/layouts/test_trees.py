"""Trees of dense nodes: memory, offsets, order, loops, names; a builder's trees and their end.

Sizes and offsets were measured on Taichi 1.7.4; `test_trees_random.py` compares 200 trees with it.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions


def test_cells_are_structs_aligned_as_in_c(target: str) -> None:
    x, y, z, v, w = ti.field(ti.f32), ti.field(ti.f64), ti.field(ti.i8), ti.Vector.field(3, ti.f32), ti.field(ti.i16)
    node = ti.root.dense(ti.ij, (3, 5))
    node.place(x, z, y, v)
    inner = node.dense(ti.i, 3)
    inner.place(w)
    offsets = [field.snode._offset_bytes_in_parent_cell for field in (x, z, y, v)]
    assert offsets == [0, 4, 8, 16] and inner._offset_bytes_in_parent_cell == 28
    assert (node._cell_size_bytes, inner._cell_size_bytes) == (40, 2)
    assert w.shape == (9, 5) and w.snode._dtype == ti.i16 and x.snode._cell_size_bytes == 0
    assert str(w.parent()) == "ti.root => dense [3, 5] => dense [9, 5]"
    assert str(w.snode).endswith("=> place [9, 5]") and [c.kind for c in node._get_children()][-1] == "dense"


def test_fields_of_one_cell_do_not_touch_each_other(target: str) -> None:
    flag, small, wide, pair = ti.field(ti.u1), ti.field(ti.i8), ti.field(ti.f64), ti.Vector.field(2, ti.i16)
    ti.root.dense(ti.i, 7).place(flag, small, wide, pair)

    @ti.kernel
    def fill():
        for i in small:
            flag[i] = i % 3 == 1
            small[i] = ti.cast(-i, ti.i8)
            pair[i] = ti.cast([i, -i], ti.i16)

    wide.from_numpy(np.linspace(0, 1, 7))
    fill()
    small[3] = 100
    pair[4].x = 50
    np.testing.assert_array_equal(flag.to_numpy(), np.arange(7) % 3 == 1)
    np.testing.assert_array_equal(small.to_numpy(), [0, -1, -2, 100, -4, -5, -6])
    np.testing.assert_array_equal(wide.to_numpy(), np.linspace(0, 1, 7))
    np.testing.assert_array_equal(pair.to_numpy()[4], [50, -4])


def test_whole_fields_are_copied_whatever_their_layout(target: str) -> None:
    plain, blocked, column = ti.field(ti.i32, (4, 6)), ti.field(ti.f32), ti.field(ti.i64, (4, 6), order="ji")
    other = ti.field(ti.f32)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, 2).place(blocked, other, offset=(1, -1))
    values = np.arange(24).reshape(4, 6)
    plain.from_numpy(values)
    blocked.copy_from(plain)
    column.copy_from(blocked)
    other.fill(7)
    for field in (plain, blocked, column):
        np.testing.assert_array_equal(field.to_numpy(), values)
    plain.copy_from(other)
    np.testing.assert_array_equal(plain.to_numpy(), np.full((4, 6), 7))
    assert blocked[4, 4] == 23 and blocked[1, -1] == 0


def test_atomics_reach_fields_of_trees(target: str) -> None:
    total, count, low = ti.field(ti.f32), ti.field(ti.i32), ti.field(ti.i32)
    node = ti.root.dense(ti.ij, 2)
    node.place(total)
    node.dense(ti.ij, (2, 3)).place(count, low, offset=(-1, 2))

    @ti.kernel
    def add():
        for i in range(960):
            total[i % 2, i % 3 % 2] += 0.5
            count[i % 4 - 1, i % 6 + 2] += 1
            ti.atomic_min(low[i % 4 - 1, i % 6 + 2], -i)

    add()
    i = np.arange(960)
    sums, counts, lows = np.zeros((2, 2)), np.zeros((4, 6), int), np.zeros((4, 6), int)
    np.add.at(sums, (i % 2, i % 3 % 2), 0.5)
    np.add.at(counts, (i % 4, i % 6), 1)
    np.minimum.at(lows, (i % 4, i % 6), -i)
    np.testing.assert_array_equal(total.to_numpy(), sums)
    np.testing.assert_array_equal(count.to_numpy(), counts)
    np.testing.assert_array_equal(low.to_numpy(), lows)


def test_atomics_that_a_device_lacks_reach_cells_too(target: str) -> None:
    total, vector = ti.field(ti.f64), ti.Vector.field(3, ti.f64)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.j, 4).place(total, vector)

    @ti.kernel
    def add():
        for i in range(600):
            total[i % 2, i % 12] += 0.25
            vector[i % 2, i % 12][i % 3] += 0.5

    add()
    i = np.arange(600)
    sums, parts = np.zeros((2, 12)), np.zeros((2, 12, 3))
    np.add.at(sums, (i % 2, i % 12), 0.25)
    np.add.at(parts, (i % 2, i % 12, i % 3), 0.5)
    np.testing.assert_array_equal(total.to_numpy(), sums)
    np.testing.assert_array_equal(vector.to_numpy(), parts)


def test_structs_lie_in_cells(target: str) -> None:
    Particle = ti.types.struct(position=ti.math.vec3, alive=ti.u1, kind=ti.i8)
    particles, mass = Particle.field(), ti.field(ti.f64)
    ti.root.dense(ti.i, 4).dense(ti.i, 3).place(particles, mass, offset=-5)

    @ti.kernel
    def fill():
        for i in particles:
            particles[i] = Particle(position=[i, 2 * i, 3 * i], alive=i > 0, kind=ti.cast(i, ti.i8))
            mass[i] = i
            particles[i].position.y += 0.5

    fill()
    particles[-5].kind = 9
    found = particles.to_numpy()
    np.testing.assert_array_equal(found["position"][:, 1], 2 * np.arange(-5, 7) + 0.5)
    np.testing.assert_array_equal(found["alive"], np.arange(-5, 7) > 0)
    np.testing.assert_array_equal(found["kind"], [9, *range(-4, 7)])
    np.testing.assert_array_equal(mass.to_numpy(), np.arange(-5, 7))
    np.testing.assert_array_equal(particles.kind.to_numpy(), found["kind"])
    assert particles[6].position.z == 18 and particles.position[-1].x == -1


def test_gradients_come_behind_all_fields_of_their_node(target: str) -> None:
    b, v = ti.field(ti.f32, needs_grad=True), ti.Vector.field(2, ti.f32, needs_grad=True)
    node = ti.root.dense(ti.i, 3)
    node.place(b, offset=-2)
    node.place(v)
    ti.root.lazy_grad()
    q = ti.field(ti.u1)
    node.place(q)
    fields = (b, v, b.grad, v.grad, q)
    assert [field.snode._offset_bytes_in_parent_cell for field in fields] == [0, 4, 12, 16, 24]
    assert node._cell_size_bytes == 28 and b.grad.parent() is node
    b.grad[-2] = 3
    assert b.grad[-2] == 3 and b[-2] == 0


@pytest.mark.parametrize(("axes", "shape"), [(8, (2, 1, 3, 1, 2, 1, 2, 2)), (10, (1, 2, 1, 2, 1, 2, 1, 2, 1, 3))])
def test_many_axes(target: str, axes: int, shape: tuple[int, ...]) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i8)
    node = ti.root.dense(ti.axes(*range(0, axes, 2)), shape[::2]).dense(ti.axes(*range(1, axes, 2)), shape[1::2])
    node.place(x, y)

    @ti.kernel
    def fill():
        for I in ti.grouped(x):
            number = 0
            for axis in ti.static(range(axes)):
                number = number * shape[axis] + I[axis]
            x[I] = number

    fill()
    assert x.shape == shape
    np.testing.assert_array_equal(x.to_numpy().ravel(), np.arange(np.prod(shape)))


def test_a_field_of_one_cell_lies_in_the_root(target: str) -> None:
    x, y = ti.field(ti.i32), ti.Vector.field(2, ti.f32)
    ti.root.place(x, y)

    @ti.kernel
    def fill():
        x[None] = 5
        y[None] = [1, 2]

    fill()
    assert x[None] == 5 and list(y[None]) == [1, 2] and x.shape == () and x.parent().shape == ()


# --- offsets and order ----------------------------------------------------------------------------------------------


def test_indices_begin_at_the_offset(target: str) -> None:
    x = ti.field(ti.i32, shape=(3, 4), offset=(-2, 5))

    @ti.kernel
    def fill() -> ti.i32:
        for i, j in x:
            x[i, j] = 10 * i + j
        for I in ti.grouped(x):
            x[I] += 100 * I[0]
        return x[-2, 5] + x.shape[0] * 1000

    assert fill() == -215 + 3000
    i, j = np.indices((3, 4)) + np.array([-2, 5])[:, None, None]
    np.testing.assert_array_equal(x.to_numpy(), 110 * i + j)
    assert x[0, 8] == 8 and x.shape == (3, 4)
    x[-1, 7] = 4
    assert x.to_numpy()[1, 2] == 4
    for index in ((0, 0), (-3, 5), (1, 5), (0, 9)):
        with pytest.raises(ti.TaichiIndexError, match=r"has shape \(3, 4\) from offset \(-2, 5\), and index"):
            x[index]


def test_fields_of_one_node_may_have_offsets_of_their_own(target: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    node = ti.root.dense(ti.i, 6)
    node.place(x, offset=(-3,))
    node.place(y)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = i
            y[i + 3] = 2 * i
        for i in node:
            y[i] += 100
        for i in x.snode:
            x[i] *= 10

    fill()
    np.testing.assert_array_equal(x.to_numpy(), 10 * np.arange(-3, 3))
    np.testing.assert_array_equal(y.to_numpy(), 100 + 2 * np.arange(-3, 3))


@pytest.mark.parametrize("order", ["ijk", "ikj", "jik", "jki", "kij", "kji"])
def test_order_is_that_of_memory_and_of_loops(target: str, order: str) -> None:
    x = ti.field(ti.i32, shape=(2, 3, 4), order=order)
    turns = ti.field(ti.i32, shape=24)

    @ti.kernel
    def fill():
        for i, j, k in x:
            x[i, j, k] = ti.global_thread_idx()
        for i, j, k in x:
            turns[x[i, j, k]] = 100 * i + 10 * j + k

    fill()
    axes = ["ijk".index(letter) for letter in order]
    np.testing.assert_array_equal(x.to_numpy().transpose(axes).ravel(), np.arange(24))
    assert [node.shape for node in (x.parent(), x.parent(4))][-1] == () if order != "ijk" else x.parent(2) is ti.root
    values = np.arange(24).reshape(2, 3, 4)
    x.from_numpy(values)
    np.testing.assert_array_equal(x.to_numpy(), values)
    assert x[1, 2, 3] == 23 and x[0, 1, 0] == 4


def test_loops_over_blocks_take_them_in_the_order_of_memory(target: str) -> None:
    x = ti.field(ti.i32)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2)).place(x, offset=(-1, 1))

    @ti.kernel
    def number():
        for i, j in x:
            x[i, j] = ti.global_thread_idx()

    number()
    blocks = x.to_numpy().reshape(2, 4, 3, 2).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(blocks.ravel(), np.arange(48))


def test_a_failed_check_in_a_loop_over_blocks_names_its_turn(target: str) -> None:
    ti.init(arch=ti.cfg.arch, debug=True)
    x, y = ti.field(ti.i32), ti.field(ti.i32, shape=3, offset=-1)
    ti.root.dense(ti.ij, (2, 3)).dense(ti.ij, (4, 2)).place(x, offset=(-1, 1))

    @ti.kernel
    def check():
        for i, j in x:
            assert i != 1 or j < 4, f"too far: {i} {j}"

    @ti.kernel
    def reach(i: ti.i32):
        y[i] = 1

    with pytest.raises(ti.TaichiAssertionError, match="too far") as caught:
        check()
    assert caught.value.iteration == {"i": 1, "j": 4}
    for inside in (-1, 0, 1):
        reach(inside)
    for outside in (-2, 2, 2**31 - 1, -(2**31)):
        text = rf"Accessing field \(y\) of size \(3\) offset \(-1\) with indices \({outside}\)"
        with pytest.raises(ti.TaichiAssertionError, match=text):
            reach(outside)
    np.testing.assert_array_equal(y.to_numpy(), 1)


def test_threads_of_a_block_check_moved_indices_too(target: str) -> None:
    ti.init(arch=ti.cfg.arch, debug=True)
    x = ti.field(ti.i32, shape=64, offset=-32)

    @ti.kernel
    def shift(by: ti.i32):
        ti.loop_config(block_dim=32)
        for i in range(64):
            tile = ti.simt.block.SharedArray(32, ti.i32)
            tile[i % 32] = i
            ti.simt.block.sync()
            x[i - 32 + by] = tile[31 - i % 32]

    shift(0)
    np.testing.assert_array_equal(x.to_numpy(), np.arange(64).reshape(2, 32)[:, ::-1].ravel())
    with pytest.raises(ti.TaichiAssertionError, match=r"offset \(-32\) with indices \(32\)"):
        shift(1)


def test_fields_of_one_tree_never_overlap(target: str) -> None:
    x, y = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(x, y)

    @ti.kernel
    def read() -> ti.i32:
        a = x[1]
        y[1] = 5
        return a + x[1]

    x[1] = 3
    assert read() == 6
    assert read.ir("final").count("ptr x ") == 1  # what y is set to changes nothing that is known of x


# --- builders -------------------------------------------------------------------------------------------------------


def test_a_destroyed_tree_is_gone_for_python_and_for_kernels(target: str) -> None:
    x, y, kept = ti.field(ti.f32), ti.Vector.field(2, ti.f32), ti.field(ti.f32, shape=3)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 5).place(x)
    builder.dense(ti.ij, (2, 3)).place(y, offset=(1, 1))
    tree = builder.finalize()

    @ti.kernel
    def touch():
        for i in x:
            x[i] += 1

    @ti.kernel
    def other(f: ti.template()):
        for i in f:
            f[i] += 2

    touch()
    other(x)
    other(kept)
    assert x[4] == 3 and tree.id >= 0
    compiled = sessions.CURRENT.compiled_functions
    tree.destroy()
    uses: list[Callable[[], Any]] = [
        touch, lambda: other(x), lambda: x[0], lambda: y[1, 1], lambda: x.fill(1), x.to_numpy, lambda: y[1, 1].x,
        lambda: x.from_numpy(np.zeros(5)), lambda: y.copy_from(y), lambda: x.__setitem__(0, 1),
    ]  # fmt: skip
    for use in uses:
        with pytest.raises(ti.TaichiRuntimeError, match=r"whose memory `destroy\(\)` freed"):
            use()
    for use in (tree.destroy, lambda: tree.id):
        with pytest.raises(ti.TaichiRuntimeError, match="SNode tree has been destroyed"):
            use()
    failed = sessions.CURRENT.compiled_functions - compiled
    other(kept)
    assert kept[2] == 4 and sessions.CURRENT.compiled_functions == compiled + failed
    assert x.shape == (5,) and repr(x)


def test_memory_of_a_destroyed_tree_goes_back_at_once(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    freed = []
    device = sessions.CURRENT.device
    free = device.free

    def free_counted(self: Any, allocation: Any) -> None:
        freed.append(allocation.size_bytes)
        free(allocation)

    monkeypatch.setattr(type(device), "free", free_counted)
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    builder = ti.FieldsBuilder()
    builder.dense(ti.i, 1000).place(x, y)
    tree = builder.finalize()
    assert freed == []
    tree.destroy()
    assert freed == [8000]


def test_trees_end_with_their_session(target: str) -> None:
    x, late = ti.field(ti.f32), ti.field(ti.f32)
    builder, other = ti.FieldsBuilder(), ti.FieldsBuilder()
    builder.dense(ti.i, 5).place(x)
    other.dense(ti.i, 5).place(late)
    tree = builder.finalize()
    ti.init(arch=ti.cfg.arch)
    for use in (lambda: x[0], lambda: late[0], lambda: late.fill(1)):
        with pytest.raises(ti.TaichiRuntimeError, match=r"made before the last `ti.init\(\)`"):
            use()
    tree.destroy()
    assert tree.destroyed


def test_a_kernel_sees_the_new_field_of_a_name(target: str) -> None:
    space: dict[str, Any] = {}

    def build(n: int) -> Any:
        space["x"] = ti.field(ti.i32)
        builder = ti.FieldsBuilder()
        builder.dense(ti.i, n).place(space["x"], ti.field(ti.i32))
        return builder.finalize()

    @ti.kernel
    def fill(x: ti.template()):
        for i in x:
            x[i] = i

    for n in (3, 8, 5):
        tree = build(n)
        fill(space["x"])
        np.testing.assert_array_equal(space["x"].to_numpy(), np.arange(n))
        tree.destroy()


def test_trees_are_freed_with_their_fields(target: str) -> None:
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    ti.root.dense(ti.i, 1000).place(x, y)
    x[5] = 1
    whole = weakref.ref(x.memory.whole)
    del x
    gc.collect()
    assert whole() is not None  # y has its elements there
    del y
    gc.collect()
    assert whole() is None


def test_a_complete_tree_takes_no_more(target: str) -> None:
    x, y = ti.field(ti.f32), ti.field(ti.f32)
    node = ti.root.dense(ti.i, 4)
    node.place(x)
    inner = node.dense(ti.j, 2)
    inner.place(y)
    x[0] = 1
    late = ti.field(ti.i8)
    for use in (lambda: node.place(late), lambda: inner.dense(ti.k, 2), lambda: y.parent().place(late)):
        with pytest.raises(ti.TaichiRuntimeError, match="belongs to a tree that has memory already"):
            use()
    z = ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(z)
    z[3] = 2
    assert z[3] == 2 and x[0] == 1


def test_a_finalized_builder_takes_no_more(target: str) -> None:
    builder = ti.FieldsBuilder()
    builder.place(ti.field(ti.f32))
    builder.finalize()
    for use in (builder.finalize, lambda: builder.dense(ti.i, 3), lambda: builder.place(ti.field(ti.f32))):
        with pytest.raises(ti.TaichiRuntimeError, match="FieldsBuilder finalized"):
            use()
    with pytest.warns(ti.ShadesmithWarning, match="Finalizing an empty FieldsBuilder"):
        ti.FieldsBuilder().finalize()


# --- misuse ---------------------------------------------------------------------------------------------------------


def test_offsets_and_orders_that_do_not_fit_are_refused(target: str) -> None:
    node = ti.root.dense(ti.ij, (2, 3))
    with pytest.raises(ti.TaichiRuntimeError, match=r"must be the same \(2 != 1\)"):
        node.place(ti.field(ti.f32), offset=1)
    with pytest.raises(TypeError, match="an offset is an integer for each axis, and 1.5 was given"):
        ti.root.dense(ti.i, 2).place(ti.field(ti.f32), offset=1.5)
    for arguments, text in [
        ({"shape": (2, 3), "offset": 1}, r"shape and offset must be the same \(2 != 1\)"),
        ({"shape": 2, "order": "j"}, "Invalid axis"),
        ({"shape": (2, 3), "order": "j"}, r"shape and order must be the same \(2 != 1\)"),
        ({"shape": (2, 3), "order": "jj"}, "axes in order must be different"),
        ({"offset": 3}, "shape cannot be None when offset is set"),
        ({"order": "ij"}, "shape cannot be None when order is set"),
    ]:
        with pytest.raises(ti.TaichiSyntaxError, match=text):
            ti.field(ti.f32, **arguments)


def test_a_constant_index_outside_is_refused_where_it_stands(target: str) -> None:
    x = ti.field(ti.f32, shape=4, offset=-2)

    @ti.kernel
    def reach():
        x[2] = 1

    with pytest.raises(ti.TaichiIndexError, match=r"Index 2 of axis 0 of `x` is out of range \[-2, 2\)"):
        reach()
