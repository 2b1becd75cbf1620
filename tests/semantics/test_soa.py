"""Fields whose parts lie apart: `Layout.SOA`, components and members placed one by one, on every target.

Results that no NumPy expression gives were measured on Taichi 1.7.4 (arch cpu), which crashes at components chosen at run
time where parts lie apart; these are compared with NumPy.
"""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

SOA = ti.Layout.SOA
vec2 = ti.types.vector(2, ti.f32)
vec3 = ti.types.vector(3, ti.f32)


@ti.dataclass
class Particle:
    pos: vec3
    vel: vec3
    mass: ti.f32

    @ti.func
    def energy(self):
        return 0.5 * self.mass * self.vel.dot(self.vel)


Inner = ti.types.struct(v=vec2, n=ti.i32)
Outer = ti.types.struct(a=Inner, b=ti.f64, c=ti.types.matrix(2, 2, ti.i16))


@pytest.mark.parametrize("count", [1, 5, 130])
def test_particles_move_as_in_numpy(target: str, count: int) -> None:
    pos = ti.Vector.field(3, ti.f32, count, layout=SOA)
    vel = ti.Vector.field(3, ti.f32, count, layout=SOA)

    @ti.kernel
    def step(dt: ti.f32):
        for i in pos:
            vel[i] += ti.Vector([0.0, -9.8, 0.0]) * dt
            pos[i] += vel[i] * dt
            if pos[i].y < 0:
                vel[i].y *= -1
                pos[i] = ti.max(pos[i], 0.0)

    start = np.random.default_rng(count).uniform(-1, 1, (2, count, 3)).astype(np.float32)
    pos.from_numpy(start[0])
    vel.from_numpy(start[1])
    step(0.125)
    v = start[1] + np.array([0, -9.8, 0], np.float32) * np.float32(0.125)
    x = start[0] + v * np.float32(0.125)
    below = x[:, 1] < 0
    v[below, 1] *= -1
    x[below] = np.maximum(x[below], 0)
    np.testing.assert_allclose(vel.to_numpy(), v, rtol=1e-6)
    np.testing.assert_allclose(pos.to_numpy(), x, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("shape", [(), 7, (3, 5), (2, 3, 2)])
def test_vectors_of_any_number_of_axes(target: str, shape: int | tuple[int, ...]) -> None:
    x = ti.Vector.field(4, ti.i32, shape, layout=SOA)

    @ti.kernel
    def fill():
        for I in ti.grouped(x):
            for k in ti.static(range(4)):
                x[I][k] += k + 10
            x[I].w += I.sum() if ti.static(len(x.shape) > 0) else 0

    fill()
    expected = np.zeros((*x.shape, 4), np.int32) + np.arange(10, 14)
    expected[..., 3] += sum(np.indices(x.shape)) if x.shape else 0
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_matrices_lie_apart_element_by_element(target: str) -> None:
    m = ti.Matrix.field(2, 3, ti.f32, 6, layout=SOA)
    v = ti.Vector.field(3, ti.f32, 6, layout=SOA)
    out = ti.Vector.field(2, ti.f32, 6)

    @ti.kernel
    def multiply():
        for i in m:
            m[i] = m[i] * 2 + 1
            v[i] = [i, 1, -i]
            out[i] = m[i] @ v[i]
            m[i][1, 2] -= 1

    start = np.arange(36, dtype=np.float32).reshape(6, 2, 3)
    m.from_numpy(start)
    multiply()
    after = start * 2 + 1
    vectors = np.array([[i, 1, -i] for i in range(6)], np.float32)
    np.testing.assert_allclose(out.to_numpy(), np.einsum("kij,kj->ki", after, vectors))
    after[:, 1, 2] -= 1
    np.testing.assert_array_equal(m.to_numpy(), after)
    assert m[3][1, 2] == after[3, 1, 2] and m.get_scalar_field(1, 2)[3] == after[3, 1, 2]


@pytest.mark.parametrize("dtype", [ti.i8, ti.i16, ti.i64, ti.u1, ti.u8, ti.f64])
def test_components_of_all_widths(target: str, dtype: object) -> None:
    x = ti.Vector.field(2, dtype, 3, layout=SOA)

    @ti.kernel
    def fill():
        for i in x:
            x[i] = [i % 2, 1]

    fill()
    assert x.to_numpy().dtype == x.dtype.numpy
    assert x.to_numpy().astype(int).tolist() == [[0, 1], [1, 1], [0, 1]]


# --- components chosen at run time ------------------------------------------------------------------------------------


def test_components_chosen_at_run_time_are_read_and_written(target: str) -> None:
    x = ti.Vector.field(3, ti.f32, 8, layout=SOA)
    total = ti.field(ti.f32, ())

    @ti.kernel
    def fill(n: ti.i32):
        for i in x:
            for k in range(n):
                x[i][k] += i * 10 + k
            for k in range(n):
                total[None] += x[i][n - 1 - k] * (k + 1)
            x[i][i % 3] = -1

    fill(3)
    expected = (np.arange(8)[:, None] * 10 + np.arange(3)).astype(np.float32)
    assert total[None] == (expected * [3, 2, 1]).sum()
    expected[np.arange(8), np.arange(8) % 3] = -1
    np.testing.assert_array_equal(x.to_numpy(), expected)


def test_elements_of_matrices_chosen_at_run_time(target: str) -> None:
    m = ti.Matrix.field(2, 3, ti.i32, 2, layout=SOA)

    @ti.kernel
    def change(r: ti.i32, c: ti.i32) -> ti.i32:
        m[1][r, c] = 7
        m[0][r, 1] += 5
        m[0][1, c] = m[1][r, c] - m[0][r, 1]
        return m[0][1, c]

    for r in range(2):
        for c in range(3):
            m.fill(0)
            assert change(r, c) == 2
            expected = np.zeros((2, 2, 3), int)
            expected[1, r, c], expected[0, r, 1] = 7, 5
            expected[0, 1, c] = 2
            np.testing.assert_array_equal(m.to_numpy(), expected)


def test_atomics_on_components_chosen_at_run_time(target: str) -> None:
    x = ti.Vector.field(3, ti.i32, 2, layout=SOA)
    seen = ti.field(ti.i32, 30)

    @ti.kernel
    def count():
        for i in range(30):
            seen[i] = ti.atomic_add(x[0][i % 3], 1)
            ti.atomic_max(x[1][i // 10], i)

    count()
    assert x.to_numpy().tolist() == [[10, 10, 10], [9, 19, 29]]
    for k in range(3):
        assert sorted(seen.to_numpy()[k::3].tolist()) == list(range(10))


def test_a_store_in_one_branch_is_not_read_back_in_another(target: str) -> None:
    a, b, c = (ti.field(ti.f32, 4) for _ in range(3))

    @ti.kernel
    def put(which: ti.i32):
        for i in a:
            pair = ti.Vector([a[i] * 2, 1.0])
            if which == 0:
                b[i] = pair[0]
            else:
                c[i] = pair[0]

    a.fill(3)
    put(1)
    assert b.to_numpy().tolist() == [0] * 4 and c.to_numpy().tolist() == [6] * 4


def test_an_element_that_many_threads_change_is_changed_component_by_component(target: str) -> None:
    """A store to one component must not write the others, which belong to other threads."""
    x = ti.Vector.field(4, ti.i32, (), layout=SOA)

    @ti.kernel
    def fill():
        for i in range(4):
            x[None][i] = i + 1
        for i in range(400):
            x[None] += ti.Vector([1, 2, 3, i % 2])

    fill()
    assert x[None].to_list() == [401, 802, 1203, 204]


# --- structs ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [ti.Layout.AOS, SOA])
def test_structs_and_their_members_are_one_memory(target: str, layout: ti.Layout) -> None:
    p = Particle.field(shape=6, layout=layout)

    @ti.kernel
    def move() -> ti.f32:
        energy = 0.0
        for i in p:
            p[i].vel.x = i
            p.vel[i].y += 2
            p[i].pos += p[i].vel * 0.5
            p[i].mass = p.pos[i].x
            energy += p[i].energy()
        for i in p.pos:
            p.mass[i] += 1
        last = p[5]
        last.mass = 9
        p[0] = last
        p[1], p[2] = p[2], p[1]
        return energy

    energy = move()
    i = np.arange(6, dtype=np.float32)
    assert energy == pytest.approx((0.5 * i / 2 * (i * i + 4)).sum())
    order = [5, 2, 1, 3, 4, 5]
    found = p.to_numpy()
    np.testing.assert_array_equal(found["vel"], np.stack([i, 0 * i + 2, 0 * i], 1)[order])
    np.testing.assert_array_equal(found["pos"], np.stack([i / 2, 0 * i + 1, 0 * i], 1)[order])
    np.testing.assert_array_equal(found["mass"], [9, *(i / 2 + 1)[order[1:]]])


def test_structs_in_structs_lie_apart_by_member(target: str) -> None:
    s = Outer.field(shape=(2, 3), layout=SOA)

    @ti.kernel
    def fill():
        for i, j in s:
            s[i, j].a.n += i * 3 + j
            s[i, j].a.v = [i, j]
            s.a[i, j].v.y += s.a.n[i, j]
            s.b[i, j] = 1 / 3
            s[i, j].c[i, 1] = 5
            s.c[i, j][j % 2, 0] = 6

    fill()
    found = s.to_numpy()
    i, j = np.indices((2, 3))
    np.testing.assert_array_equal(found["a"]["n"], i * 3 + j)
    np.testing.assert_array_equal(found["a"]["v"], np.stack([i, j + i * 3 + j], 2))
    expected = np.zeros((2, 3, 2, 2), np.int16)
    for a, b in np.ndindex(2, 3):
        expected[a, b, a, 1], expected[a, b, b % 2, 0] = 5, 6
    np.testing.assert_array_equal(found["c"], expected)
    assert isinstance(s.a, ti.StructField) and s.a.v[1, 2].to_list() == [1, 7] and s[0, 1].a.n == 1


def test_members_placed_one_by_one(target: str) -> None:
    p = Particle.field()
    x, y, z = (p.pos.get_scalar_field(k) for k in range(3))
    ti.root.dense(ti.i, 8).place(x, y)
    block = ti.root.dense(ti.i, 8)
    block.place(z)
    assert not p.is_placed
    block.place(p.get_member_field("vel"))
    ti.root.dense(ti.i, 2).dense(ti.i, 4).place(p.mass)
    assert p.shape == p.pos.shape == p.vel.shape == (8,)

    @ti.kernel
    def fill(n: ti.i32):
        for i in p:
            p[i].pos = [i, 2 * i, 3 * i]
            p[i].vel[n] = p[i].pos[n]
            p.mass[i] = x[i] + y[i] + z[i]
        for i in x:
            x[i] -= 1

    fill(2)
    i = np.arange(8)
    found = p.to_numpy()
    np.testing.assert_array_equal(found["pos"], np.stack([i - 1, 2 * i, 3 * i], 1))
    np.testing.assert_array_equal(found["vel"], np.stack([0 * i, 0 * i, 3 * i], 1))
    np.testing.assert_array_equal(found["mass"], 6 * i)
    assert p[7].pos.z == 21 and x[7] == 6


def test_members_may_have_shapes_of_their_own(target: str) -> None:
    s = ti.types.struct(a=ti.f32, b=ti.f32).field()
    ti.root.dense(ti.i, 4).place(s.a)
    ti.root.dense(ti.i, 6).place(s.b)

    @ti.kernel
    def fill():
        for i in s.b:
            s.b[i] = i
        for i in s:
            s[i].a = s[i + 2].b
        s.b.fill(2.0)

    fill()
    assert s.shape == (4,) and s.b.shape == (6,)
    found = s.to_numpy()
    assert found["a"].tolist() == [2, 3, 4, 5] and found["b"].tolist() == [2] * 6

    @ti.kernel
    def fill_all():
        s.fill(7)

    fill_all()
    assert s.to_numpy()["a"].tolist() == [7] * 4 and s.to_numpy()["b"].tolist() == [7] * 6
    s.fill(8)
    assert s.to_numpy()["b"].tolist() == [8] * 6


# --- components as fields ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", [ti.Layout.AOS, SOA])
def test_components_are_fields_in_kernels(target: str, layout: ti.Layout) -> None:
    v = ti.Vector.field(3, ti.f32, 5, layout=layout)
    s = Particle.field(shape=5, layout=layout)
    x, y = v.get_scalar_field(0), v.get_scalar_field(1)
    px = s.pos.get_scalar_field(0)

    @ti.kernel
    def fill(part: ti.template(), total: ti.template()):
        for i in x:
            x[i] = i
            part[i] += x[i] * 2
            v.get_scalar_field(2)[i] = v[i].y
            s.pos.get_scalar_field(1)[i] = part[i]
            px[i] = x.shape[0]
            total[None] += v[i].z
        for i in px:
            ti.atomic_sub(px[i], i)

    total = ti.field(ti.f32, ())
    fill(y, total)
    i = np.arange(5)
    np.testing.assert_array_equal(v.to_numpy(), np.stack([i, 2 * i, 2 * i], 1))
    np.testing.assert_array_equal(s.to_numpy()["pos"], np.stack([5 - i, 2 * i, 0 * i], 1))
    assert total[None] == 20
    assert isinstance(x, ti.ScalarField) and x.shape == (5,) and x.dtype == ti.f32
    fill(x, total)  # another component is another kernel
    assert x.to_numpy().tolist() == [0, 3, 6, 9, 12]


@pytest.mark.parametrize("layout", [ti.Layout.AOS, SOA])
def test_components_are_fields_in_python(target: str, layout: ti.Layout) -> None:
    v = ti.Vector.field(3, ti.f32, 4, layout=layout)
    x, y = v.get_scalar_field(0), v.get_scalar_field(1)
    v.fill(2)
    y.fill(7)
    y[2] = 3
    x.from_numpy(np.arange(4))
    other = ti.field(ti.f32, 4)
    other.copy_from(y)
    assert other.to_numpy().tolist() == [7, 7, 3, 7] and x.to_numpy().tolist() == [0, 1, 2, 3]
    x.copy_from(other)
    assert v.to_numpy().tolist() == [[7, 7, 2], [7, 7, 2], [3, 3, 2], [7, 7, 2]]
    assert str(x) == "[7. 7. 3. 7.]"
    for wrong in ((3,), (-1,), ()):
        with pytest.raises(IndexError):
            v.get_scalar_field(*wrong)


def test_real_functions_take_them(target: str) -> None:
    v = ti.Vector.field(3, ti.f32, 4, layout=SOA)
    p = Particle.field(shape=4, layout=SOA)

    @ti.real_func
    def push(field: ti.template(), i: ti.i32, by: ti.f32) -> ti.f32:
        field[i].x += by
        return field[i].dot(field[i])

    @ti.real_func
    def double(x: ti.ref(ti.f32)):
        x *= 2

    @ti.real_func
    def weigh(q: Particle) -> ti.f32:
        return q.mass * q.pos.x

    @ti.kernel
    def run():
        for i in v:
            v[i].y = push(v, i, i + 1)
            double(v[i][i % 3])
            p[i].pos = v[i]
            p[i].mass = i
            p[i].vel.z = weigh(p[i])

    run()
    i = np.arange(4)
    expected = np.stack([i + 1, (i + 1) ** 2, 0 * i], 1).astype(np.float32)
    expected[i, i % 3] *= 2
    np.testing.assert_array_equal(v.to_numpy(), expected)
    np.testing.assert_array_equal(p.to_numpy()["vel"][:, 2], i * expected[:, 0])


# --- Python scope -----------------------------------------------------------------------------------------------------


def test_elements_are_read_and_written_from_python(target: str) -> None:
    v = ti.Vector.field(3, ti.f32, (2, 2), layout=SOA)
    v[1, 0] = [1, 2, 3]
    v[1, 0].y = 5
    v[0, 1][2] = 4
    v[1, 1] += 1
    assert v[1, 0].to_list() == [1, 5, 3] and v[0, 1].to_list() == [0, 0, 4] and v[1, 1].to_list() == [1, 1, 1]
    with pytest.raises(IndexError):
        v[2, 0]
    with pytest.raises(ValueError, match="elements of shape"):
        v[0, 0] = [1, 2]

    p = Particle.field(shape=3, layout=SOA)
    p[1].pos.y = 2
    p[1].mass = 4
    p[2] = Particle(pos=[1, 2, 3], vel=5, mass=6)
    p[0] = p[2]
    p[0].vel = [7, 8, 9]
    assert p[0].to_dict() == {"pos": [1, 2, 3], "vel": [7, 8, 9], "mass": 6}
    assert p[1].to_dict() == {"pos": [0, 2, 0], "vel": [0, 0, 0], "mass": 4}
    assert p.keys == ["pos", "vel", "mass"] and list(p.field_dict) == p.keys


def test_whole_fields_go_to_numpy_and_back(target: str) -> None:
    v, w = ti.Vector.field(3, ti.f32, 4, layout=SOA), ti.Vector.field(3, ti.f32, 4)
    values = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)
    v.from_numpy(values)
    w.copy_from(v)
    np.testing.assert_array_equal(w.to_numpy(), values)
    w.fill([1, 2, 3])
    v.copy_from(w)
    assert v.to_numpy().tolist() == [[1, 2, 3]] * 4
    assert v.to_numpy(keep_dims=True).shape == (4, 3, 1) and np.asarray(v).shape == (4, 3)
    v.fill(0.5)
    assert v[3].to_list() == [0.5] * 3
    with pytest.raises(ValueError, match="does not match"):
        v.from_numpy(values[:3])

    s, t = Outer.field(shape=2, layout=SOA), Outer.field(shape=2)
    inner = {"v": np.ones((2, 2)), "n": np.arange(2)}
    s.from_numpy({"a": inner, "b": np.array([1.5, 2.5]), "c": np.arange(8).reshape(2, 2, 2)})
    t.copy_from(s)
    assert t[1].to_dict() == {"a": {"v": [1, 1], "n": 1}, "b": 2.5, "c": [[4, 5], [6, 7]]}
    t.fill(3)
    s.copy_from(t)
    assert s[0].to_dict() == {"a": {"v": [3, 3], "n": 3}, "b": 3, "c": [[3, 3], [3, 3]]}
    s.fill({"a": {"v": [1, 2], "n": 3}, "b": 4, "c": [[5, 6], [7, 8]]})
    assert np.asarray(s)["a"]["v"].tolist() == [[1, 2]] * 2
    with pytest.raises(KeyError):
        s.from_numpy({"a": inner})


def test_kernels_fill_them(target: str) -> None:
    v, p = ti.Vector.field(2, ti.i32, 3, layout=SOA), Particle.field(shape=3, layout=SOA)

    @ti.kernel
    def fill():
        v.fill(4)
        p.fill(1)
        p.pos.fill([1, 2, 3])

    fill()
    assert v.to_numpy().tolist() == [[4, 4]] * 3
    assert p[2].to_dict() == {"pos": [1, 2, 3], "vel": [1, 1, 1], "mass": 1}


def test_gradients_lie_apart_too(target: str) -> None:
    v = ti.Vector.field(2, ti.f32, 3, layout=SOA, needs_grad=True)
    p = Particle.field(shape=3, layout=SOA, needs_grad=True)
    v.grad[1] = [1, 2]
    p.grad[2].mass = 5
    assert v.get_scalar_field(1).grad[1] == 2 and p.mass.grad[2] == 5 and p.grad.mass[2] == 5

    @ti.kernel
    def read() -> ti.f32:
        p.pos.grad[0].x = 1
        return v.grad[1].y + p.mass.grad[2] + p.grad[2].mass + p.grad.pos[0].x

    assert read() == 13 and v.to_numpy().sum() == 0


def test_lazy_gradients_are_placed_beside_the_parts(target: str) -> None:
    v = ti.Vector.field(2, ti.f32, needs_grad=True)
    node = ti.root.dense(ti.i, 4)
    node.place(v.get_scalar_field(0))
    ti.root.dense(ti.i, 4).place(v.get_scalar_field(1))
    ti.root.lazy_grad()
    v.grad[3] = [1, 2]
    assert v.grad.shape == (4,) and v.grad.to_numpy().sum() == 3 and v.grad.get_scalar_field(0)[3] == 1


def test_parts_of_a_field_placed_whole_are_views_of_it(target: str) -> None:
    v, s = ti.Vector.field(2, ti.f32), Outer.field()
    x, n = v.get_scalar_field(0), s.a.n
    ti.root.dense(ti.i, 4).place(v, s)
    v[2] = [3, 4]
    n[1] = 5
    assert x[2] == 3 and s[1].a.n == 5 and n.shape == (4,)

    @ti.kernel
    def double():
        for i in x:
            x[i] *= 2
            n[i] += 1

    double()
    assert v[2].to_list() == [6, 4] and s.a.n.to_numpy().tolist() == [1, 6, 1, 1]


def test_memory_of_parts_goes_with_the_field(target: str) -> None:
    session = sessions.CURRENT
    gc.collect()
    session.sync()
    before = len(session.arrays)
    v, p, q = ti.Vector.field(3, ti.f32, 100, layout=SOA), Particle.field(shape=10, layout=SOA), Particle.field()
    ti.root.dense(ti.i, 4).place(q.pos)
    ti.root.dense(ti.i, 4).place(q.vel, q.mass)
    for field in (v, p, q):
        field.fill(1)
    assert len(session.arrays) > before
    gc.disable()
    try:
        memory = [weakref.ref(field.memory) for field in (v.get_scalar_field(0), p.pos, q.pos)]
        del v, p, q, field  # no cycles: memory goes at once
        assert [found() for found in memory] == [None] * 3
    finally:
        gc.enable()


# --- mistakes ---------------------------------------------------------------------------------------------------------


def test_misuse_is_told(target: str) -> None:
    v = ti.Vector.field(2, ti.f32)
    ti.root.dense(ti.i, 4).place(v.get_scalar_field(0))
    with pytest.raises(ti.TaichiRuntimeError, match="not placed"):
        v[0]
    with pytest.raises(ti.TaichiRuntimeError, match="placed already"):
        ti.root.dense(ti.i, 4).place(v)
    with pytest.raises(ti.TaichiRuntimeError, match="placed already"):
        ti.root.dense(ti.i, 4).place(v.get_scalar_field(0))
    with pytest.raises(ti.TaichiRuntimeError, match=r"different shapes \[\(4,\), \(8,\)\]"):
        ti.root.dense(ti.i, 8).place(v.get_scalar_field(1))
    with pytest.raises(TypeError, match="layout"):
        ti.Vector.ndarray(3, ti.f32, 4, layout=SOA)

    w = ti.Vector.field(2, ti.f32, 4, layout=SOA)

    @ti.kernel
    def component(k: ti.i32):
        w.get_scalar_field(k)[0] = 1

    with pytest.raises(ti.TaichiTypeError, match="no component"):
        component(1)


def test_indices_are_checked_under_debug(target: str) -> None:
    arch = getattr(ti, target)
    ti.init(arch=arch, debug=True, enable_fallback=False)
    v, p = ti.Vector.field(3, ti.f32, 8, layout=SOA), Particle.field(shape=8, layout=SOA)

    @ti.kernel
    def scale(i: ti.i32, k: ti.i32):
        v[i][k] = v[i + 1][k] * 2
        p[i].pos[k] += 1

    @ti.kernel
    def copy(i: ti.i64):
        p[i] = p[0]

    scale(6, 2)
    assert v.to_numpy().sum() == 0 and p[6].pos.z == 1
    for (i, k), text in {
        (7, 0): r"field \(v\) of size \(8\) with indices \(8\)",
        (-1, 0): r"field \(v\) of size \(8\) with indices \(-1\)",
        (0, 3): r"vector of shape \(3\) with indices \[3\]: `v`",
    }.items():
        with pytest.raises(ti.TaichiAssertionError, match=text):
            scale(i, k)
    with pytest.raises(ti.TaichiAssertionError, match=r"field \(p.pos\) of size \(8\) with indices \(4294967296\)"):
        copy(1 << 32)


def test_names_of_fields_that_are_names_of_types(target: str) -> None:
    F, X = ti.Matrix.field(2, 2, ti.f32, 3, layout=SOA), Particle.field(shape=3, layout=SOA)
    Particle_ = ti.Vector.field(2, ti.i32, 3, layout=SOA)

    @ti.kernel
    def fill():
        for i in F:
            F[i] = ti.Matrix.identity(ti.f32, 2) * i
            X[i].mass = F[i].trace()
            X[0] = X[2]
            Particle_[i].y = i

    fill()
    assert F[2].to_list() == [[2, 0], [0, 2]] and X[1].mass == 2 and Particle_[2].y == 2
    assert str(F.parent()) == "ti.root => dense [3]" and str(F.parent(2)) == "ti.root" and F.parent(3) is None
