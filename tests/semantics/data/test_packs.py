"""Argument packs and Python's dataclasses as kernel arguments: their members are parameters, taken where they are used."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

Vector3 = ti.types.vector(3, ti.f32)


@dataclasses.dataclass
class Particles:
    position: ti.types.ndarray(dtype=Vector3, ndim=1)
    mass: ti.types.ndarray(dtype=ti.f32, ndim=1)
    unused: ti.types.ndarray(dtype=ti.f64, ndim=2)


@dataclasses.dataclass
class State:
    particles: Particles
    gravity: Vector3
    step: ti.f32
    scale: ti.template() = 2


def state(count: int, **changes: Any) -> State:
    particles = Particles(ti.Vector.ndarray(3, ti.f32, count), ti.ndarray(ti.f32, count), ti.ndarray(ti.f64, (1, 1)))
    particles.mass.fill(2)
    return dataclasses.replace(State(particles, Vector3(0, -9, 1), 0.5), **changes)


@ti.kernel
def fall(s: State, turns: ti.i32):
    for i in s.particles.position:
        s.particles.position[i] += turns * s.scale * s.step * s.gravity * s.particles.mass[i]


@pytest.mark.parametrize("count", [1, 5])
def test_a_dataclass_holds_arrays_numbers_and_dataclasses(target: str, count: int) -> None:
    world = state(count)
    fall(world, 3)
    world.step = 1.0  # no new kernel: a number is passed with each launch
    fall(s=world, turns=3)
    np.testing.assert_array_equal(world.particles.position.to_numpy(), [[0, -9 * 18, 18]] * count)
    assert len(fall.instances()) == 1
    fall(state(count, scale=7), 1)
    assert len(fall.instances()) == 2


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_members_that_a_kernel_does_not_use_are_not_passed(target: str) -> None:
    source = fall.source(state(2), 1)
    assert "s_particles_unused" not in source
    if target != "python":
        assert "s_particles_position(" in source and "s_step" in source


def test_numpy_arrays_are_members_too(target: str) -> None:
    world = state(3)
    world.particles.position = np.zeros((3, 3), np.float32)
    world.particles.mass = np.ones(3, np.float32)
    fall(world, 1)
    np.testing.assert_array_equal(world.particles.position, [[0, -9, 1]] * 3)


Pack = ti.types.argpack(a=ti.i32, v=ti.math.vec3, x=ti.types.ndarray(dtype=ti.f32, ndim=1))


def test_an_argument_pack_is_changed_between_launches(target: str) -> None:
    @ti.kernel
    def add(p: Pack, s: ti.i32):
        for i in p.x:
            p.x[i] = p.a + p.v[1] + s

    x = ti.ndarray(ti.f32, 4)
    pack = Pack(a=3, v=ti.math.vec3(1, 2, 3), x=x)
    add(pack, 5)
    np.testing.assert_array_equal(x.to_numpy(), 10)
    pack.a = 10
    pack["v"] = ti.math.vec3(0, 5, 0)
    add(pack, 5)
    np.testing.assert_array_equal(x.to_numpy(), 20)
    assert isinstance(pack, ti.ArgPack) and list(pack.keys) == ["a", "v", "x"] and pack.to_dict()["a"] == 10


def test_packs_hold_packs_structs_and_matrices_and_go_to_functions(target: str) -> None:
    Inner = ti.types.struct(a=ti.i32, b=ti.f32)
    Outer = ti.types.argpack(s=Inner, m=ti.types.matrix(2, 2, ti.f32), p=ti.types.argpack(n=ti.f32))

    @ti.func
    def total(pack):
        return pack.s.a + pack.s.b + pack.m[1, 1]

    @ti.kernel
    def compute(pack: Outer) -> ti.f32:
        return total(pack) + pack.p.n

    pack = Outer(s=Inner(1, 2.5), m=ti.Matrix([[1.0, 2.0], [3.0, 4.0]]))
    assert compute(pack) == 7.5
    pack.p.n = 10
    assert compute(pack) == 17.5


def test_what_a_pack_cannot_be() -> None:
    ti.init(arch=ti.cpu)
    with pytest.raises(TypeError, match="needs a value for `x`"):
        Pack(a=3)
    with pytest.raises(TypeError, match="`b` is no member; there are a, v, x"):
        Pack(b=3)
    with pytest.raises(TypeError, match="`a` is given twice"):
        Pack(3, a=3)
    for name in ("to_dict", "_a", "a b", "if"):
        with pytest.raises(ValueError, match="cannot be the name"):
            ti.types.argpack(**{name: ti.i32})
    with pytest.raises(ValueError, match="Invalid data type"):
        ti.types.argpack(a="text")
    pack = ti.types.argpack(a=ti.i32)()
    with pytest.raises(AttributeError, match="no member `b`; it has a"):
        pack.b = 3
    with pytest.raises(KeyError):
        pack["b"]


def test_misuse_in_calls_names_the_member(target: str) -> None:
    with pytest.raises(ti.TaichiRuntimeTypeError, match="`s` of kernel `fall`.* takes a State, and a int without"):
        fall(3, 1)
    world = state(2)
    world.particles.mass = ti.ndarray(ti.f64, 2)
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"`s.particles.mass` of kernel `fall`.* needs dtype=f32"):
        fall(world, 1)
    world = state(2, step="fast")
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"`s.step` of kernel `fall`"):
        fall(world, 1)


def test_misuse_in_kernels_has_a_place(target: str) -> None:
    @ti.kernel
    def unknown(p: Pack) -> ti.i32:
        return p.b

    @ti.kernel
    def assigned(p: Pack):
        p.a = 3

    @ti.kernel
    def value(p: Pack) -> ti.i32:
        return p + 1

    pack = Pack(3, ti.math.vec3(0), ti.ndarray(ti.f32, 2))
    with pytest.raises(ti.TaichiNameError, match=r"(?s)line \d+, column 16.*argument pack `p`"):
        unknown(pack)
    with pytest.raises(ti.TaichiTypeError, match=r"(?s)line \d+, column 9.*Member `a` of the argument pack `p`"):
        assigned(pack)
    with pytest.raises(ti.TaichiTypeError, match="argument pack `p` cannot be used as a value"):
        value(pack)


def test_a_member_without_a_type_is_refused_where_the_kernel_is_decorated() -> None:
    @dataclasses.dataclass
    class Bad:
        name: str

    with pytest.raises(ti.TaichiSyntaxError, match=r"`b\.name` is a `str`"):

        @ti.kernel
        def use(b: Bad):
            pass
