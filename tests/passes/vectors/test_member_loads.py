"""Loads of members of a struct before stores to others: the same numbers, and only where they are the same."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("cpu")  # elsewhere the pass returns at once

SIZE = 37
REMARK = "(member_loads)"
Particle = ti.types.struct(pos=ti.math.vec3, vel=ti.math.vec3, mass=ti.f32)


def particles() -> tuple[ti.StructField, np.ndarray]:
    field = Particle.field(shape=SIZE)
    numbers = np.random.default_rng(5).random((SIZE, 7), np.float32)
    field.pos.from_numpy(numbers[:, :3])
    field.vel.from_numpy(numbers[:, 3:6])
    field.mass.from_numpy(np.ascontiguousarray(numbers[:, 6]))
    return field, numbers


def test_particles(target: str) -> None:
    p, numbers = particles()

    @ti.kernel
    def advance(dt: ti.f32):
        for i in p:
            p[i].vel += dt * ti.math.vec3(1, -9.5, 2) * p[i].mass
            p[i].pos += dt * p[i].vel
            p[i].mass *= 2.0

    advance(0.5)
    velocity = numbers[:, 3:6] + np.float32(0.5) * np.float32([1, -9.5, 2]) * numbers[:, 6:]
    np.testing.assert_allclose(p.vel.to_numpy(), velocity, rtol=1e-6)
    np.testing.assert_allclose(p.pos.to_numpy(), numbers[:, :3] + np.float32(0.5) * velocity, rtol=1e-6)
    np.testing.assert_array_equal(p.mass.to_numpy(), 2 * numbers[:, 6])
    source = advance.source(0.5, arch=ti.x64)
    assert REMARK in source and source.index("p_pos = p(i).pos;") < source.index("p(i).vel = ")
    assert REMARK not in advance.source(0.5, arch=ti.cuda)


def test_a_member_that_was_stored_is_loaded_after_it(target: str) -> None:
    p, numbers = particles()

    @ti.kernel
    def exchange():
        for i in p:
            p[i].pos = 2.0 * p[i].pos
            p[i].vel = p[i].pos + p[i].vel
            p[i].mass = p[i].vel.x + p[i].pos.y

    exchange()
    np.testing.assert_allclose(p.pos.to_numpy(), 2 * numbers[:, :3])
    np.testing.assert_allclose(p.vel.to_numpy(), 2 * numbers[:, :3] + numbers[:, 3:6], rtol=1e-6)
    expected = 2 * numbers[:, 0] + numbers[:, 3] + 2 * numbers[:, 1]
    np.testing.assert_allclose(p.mass.to_numpy(), expected, rtol=1e-6)


def test_another_element_may_be_the_same_one(target: str) -> None:
    p, numbers = particles()
    at = ti.field(ti.i32, SIZE)
    at.from_numpy(np.arange(SIZE, dtype=np.int32))

    @ti.kernel
    def through_indices():
        for i in p:
            p[i].vel = ti.math.vec3(1.0)
            p[at[i]].pos = ti.math.vec3(4.0)
            p[i].mass = p[i].pos.x

    through_indices()
    np.testing.assert_array_equal(p.mass.to_numpy(), np.full(SIZE, 4, np.float32))
    assert REMARK not in through_indices.source(arch=ti.x64)


def test_a_field_stored_between_is_apart(target: str) -> None:
    p, numbers = particles()
    speed = ti.field(ti.f32, SIZE)

    @ti.kernel
    def measure():
        for i in p:
            p[i].vel *= 2.0
            speed[i] = p[i].vel.x
            p[i].pos += p[i].vel

    measure()
    np.testing.assert_array_equal(speed.to_numpy(), 2 * numbers[:, 3])
    np.testing.assert_allclose(p.pos.to_numpy(), numbers[:, :3] + 2 * numbers[:, 3:6], rtol=1e-6)
    assert REMARK in measure.source(arch=ti.x64)


def test_ndarrays_may_be_one(target: str) -> None:
    array = ti.ndarray(Particle, SIZE)
    numbers = np.random.default_rng(6).random((SIZE, 7), np.float32)
    rows = np.zeros(SIZE, dtype=[("pos", np.float32, 3), ("vel", np.float32, 3), ("mass", np.float32)])
    rows["pos"], rows["vel"], rows["mass"] = numbers[:, :3], numbers[:, 3:6], numbers[:, 6]
    array.from_numpy(rows)

    @ti.kernel
    def both(a: ti.types.ndarray(Particle, ndim=1), b: ti.types.ndarray(Particle, ndim=1)):
        for i in a:
            a[i].vel = ti.math.vec3(1.0)
            b[i].pos = ti.math.vec3(3.0)
            a[i].mass = a[i].pos.x + a[i].vel.x

    both(array, array)
    np.testing.assert_array_equal(array.to_numpy()["mass"], np.full(SIZE, 4, np.float32))


Counts = ti.types.struct(a=ti.i32, b=ti.i32, c=ti.i32, d=ti.i32, e=ti.i32, f=ti.i32, g=ti.i32)
Structs = ti.types.ndarray(Counts, 1)


def test_a_member_of_what_may_be_the_same_struct_is_stored_in_between(target: str) -> None:
    p, at, out = Counts.field(shape=SIZE), ti.field(ti.i32, SIZE), ti.field(ti.i32, SIZE)
    at.from_numpy(np.arange(SIZE, dtype=np.int32))

    @ti.kernel
    def through_indices():
        for i in p:
            j = at[i]
            p[i].a = i
            p[j].b = i + 100
            out[i] = p[i].b

    @ti.kernel
    def through_arguments(x: Structs, y: Structs):
        for i in range(SIZE):
            x[i].a = i
            y[i].b = i + 200
            out[i] = x[i].b

    through_indices()
    assert out.to_numpy().tolist() == list(range(100, 100 + SIZE))
    x = ti.ndarray(Counts, SIZE)
    through_arguments(x, x)
    assert out.to_numpy().tolist() == list(range(200, 200 + SIZE))
