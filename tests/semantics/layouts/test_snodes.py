"""`ti.root` of dense nodes: shapes, parents, memory, and errors. Shapes and parents were measured on Taichi 1.7.4."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti


@pytest.mark.parametrize(
    ("chain", "shape"),
    [
        ([(ti.i, 4)], (4,)),
        ([(ti.j, 4)], (4,)),
        ([(ti.ij, (4, 8)), (ti.ij, 2)], (8, 16)),
        ([(ti.j, 4), (ti.i, 3)], (3, 4)),
        ([(ti.i, 4), (ti.i, 3), (ti.ij, (2, 5))], (24, 5)),
        ([(ti.ij, (4,))], (4, 4)),
        ([(ti.ijkl, 2)], (2, 2, 2, 2)),
        ([(ti.axes(4), 3)], (3,)),
    ],
)
def test_extents_of_one_axis_multiply_and_axes_are_in_order(target: str, chain: list, shape: tuple) -> None:
    x, node = ti.field(ti.f32), ti.root
    for axes, extents in chain:
        node = node.dense(axes, extents)
    node.place(x)
    assert x.shape == shape and node.shape == shape and x.snode.shape == shape
    np.testing.assert_array_equal(x.to_numpy(), np.zeros(shape, np.float32))


def test_fields_placed_together_are_used_in_kernels_like_any(target: str) -> None:
    position, mass, count = ti.Vector.field(2, float), ti.field(float), ti.field(int)
    ti.root.dense(ti.i, 5).place(position, [mass])
    ti.root.place(count)

    @ti.kernel
    def fill():
        for i in position:
            position[i] = [i, 2 * i]
            mass[i] = 0.5 * i
            count[None] += 1

    fill()
    np.testing.assert_array_equal(position.to_numpy()[:, 1], 2 * np.arange(5))
    np.testing.assert_array_equal(mass.to_numpy(), 0.5 * np.arange(5))
    assert count[None] == 5 and count.shape == ()


def test_a_node_is_a_loops_domain(target: str) -> None:
    node, x = ti.root.dense(ti.ij, (3, 5)), ti.field(ti.i32)
    node.place(x)

    @ti.kernel
    def fill():
        for i, j in node:
            x[i, j] = 10 * i + j
        for I in ti.grouped(node):
            x[I] += 100

    fill()
    np.testing.assert_array_equal(x.to_numpy(), 100 + 10 * np.arange(3)[:, None] + np.arange(5))


def test_a_block_below_a_cell_lends_its_axes(target: str) -> None:
    count, cells = ti.field(int), ti.field(int)
    grid = ti.root.dense(ti.ij, (2, 3))
    grid.place(count)
    grid.dense(ti.k, 4).place(cells)

    @ti.kernel
    def insert():
        for i in range(10):
            slot = ti.atomic_add(count[1, 2], 1)
            if slot < 4:
                cells[1, 2, slot] = 1

    insert()
    assert cells.shape == (2, 3, 4) and count[1, 2] == 10 and cells.to_numpy().sum() == 4


def test_parents_lead_to_the_root(target: str) -> None:
    x, y = ti.field(ti.f32), ti.field(ti.f32, shape=(4, 3))
    ti.root.dense(ti.j, 4).dense(ti.i, 3).place(x)
    assert [x.parent(n).shape for n in (1, 2, 3)] == [(3, 4), (4,), ()]
    assert x.parent(3) is ti.root and x.parent(4) is None
    assert y.parent().shape == (4, 3) and y.parent(2) is ti.root


def test_gradients_are_placed_by_hand_or_by_lazy_grad(target: str) -> None:
    x, y = ti.field(ti.f32, needs_grad=True), ti.Vector.field(3, ti.f32, needs_grad=True)
    ti.root.dense(ti.i, 4).place(x, x.grad)
    ti.root.dense(ti.i, 6).place(y)
    ti.root.lazy_grad()
    assert x.grad.shape == (4,) and y.grad.shape == (6,)
    y.grad[5] = [1, 2, 3]
    assert list(y.grad[5]) == [1, 2, 3] and list(y[5]) == [0, 0, 0]


def test_a_field_of_structs_is_placed_as_one(target: str) -> None:
    Particle = ti.types.struct(position=ti.math.vec2, mass=ti.f32)
    particles = Particle.field()
    ti.root.dense(ti.i, 3).place(particles)

    @ti.kernel
    def fill():
        for i in particles:
            particles[i].position = [i, 2 * i]
            particles.mass[i] += 0.5

    fill()
    assert particles.shape == (3,) and particles.mass.parent().shape == (3,)
    np.testing.assert_array_equal(particles.to_numpy()["position"][:, 1], [0, 2, 4])
    np.testing.assert_array_equal(particles.to_numpy()["mass"], 0.5)


def test_a_field_that_was_not_placed_says_so(target: str) -> None:
    x = ti.field(ti.f32, name="mass")

    @ti.kernel
    def write():
        x[0] = 1

    for use in (write, lambda: x.shape, lambda: x.to_numpy(), lambda: x[0], lambda: x.fill(1), lambda: x.parent()):
        with pytest.raises((ti.TaichiRuntimeError, ti.TaichiCompilationError), match="this field `mass` is not placed"):
            use()


def test_misuse_of_nodes(target: str) -> None:
    x = ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(x)
    for place in (lambda: ti.root.dense(ti.i, 4).place(x), lambda: ti.root.place(ti.field(ti.f32, shape=4))):
        with pytest.raises(ti.TaichiRuntimeError, match="has been placed already"):
            place()
    with pytest.raises(ValueError, match="3 cannot be placed"):
        ti.root.place(3)
    with pytest.raises(TypeError, match=r"`ti\.i`, `ti\.ij`"):
        ti.root.dense(1, 4)
    with pytest.raises(ValueError, match="once"):
        ti.root.dense(ti.i + ti.i, 4)
    with pytest.raises(ValueError, match="2 axes take 2 extents"):
        ti.root.dense(ti.ij, (1, 2, 3))
    with pytest.raises(ti.TaichiRuntimeError, match="should be positive, got 0"):
        ti.root.dense(ti.i, 0)
    with pytest.raises(ti.TaichiRuntimeError, match="hash SNodes are not supported.*use `pointer`"):
        ti.root.dense(ti.i, 4).hash(ti.i, 4)


def test_each_session_has_a_root_of_its_own(target: str) -> None:
    x = ti.field(ti.f32)
    ti.root.dense(ti.i, 4).place(x)
    ti.init(arch=ti.cfg.arch)
    y = ti.field(ti.f32, needs_grad=True)
    ti.root.dense(ti.i, 3).place(y)
    ti.root.lazy_grad()
    assert y.grad.shape == (3,)
    with pytest.raises(ti.TaichiRuntimeError, match="its memory is gone"):
        x[0]
