"""Structs as parameters, references and results of real functions."""

# ruff: noqa: RET503

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

Ray = ti.types.struct(origin=tm.vec3, direction=tm.vec3, hits=ti.i32, alive=ti.u1)
Pair = ti.types.struct(ray=Ray, t=ti.f32)


@ti.real_func
def at(ray: Ray, t: ti.f32) -> tm.vec3:
    return ray.origin + t * ray.direction


@ti.real_func
def advance(ray: ti.ref(Ray), t: ti.f32):
    ray.origin = at(ray, t)
    ray.direction.y *= -1.0
    ray.hits += 1
    ray.alive = ray.hits < 3


@ti.real_func
def farther(a: Ray, b: Ray) -> (Pair, ti.i32):
    if a.origin.norm() > b.origin.norm():
        return Pair(ray=a, t=1.0), 0
    return Pair(ray=b, t=2.0), 1


@ti.real_func
def add_one(k: ti.ref(ti.i32), flag: ti.ref(ti.u1)):
    k += 1
    flag = not flag  # noqa: F841 - the caller's


def test_structs_by_value_and_by_reference(target: str) -> None:
    rays = Ray.field(shape=3)

    @ti.kernel
    def run() -> tm.vec3:
        for i in rays:
            ray = Ray(origin=tm.vec3(i), direction=tm.vec3(1, 2, 3), hits=i, alive=True)
            advance(ray, 0.5)
            add_one(ray.hits, ray.alive)
            rays[i] = ray
        advance(rays[1], 2.0)
        return at(rays[1], 1.0)

    assert run().to_numpy().tolist() == [4.5, 0.0, 11.5]
    assert rays.hits.to_numpy().tolist() == [2, 4, 4]
    assert rays.alive.to_numpy().tolist() == [0, 0, 1]
    np.testing.assert_array_equal(rays.origin.to_numpy(), [[0.5, 1, 1.5], [3.5, -2, 8.5], [2.5, 3, 3.5]])


def test_structs_as_results(target: str) -> None:
    @ti.kernel
    def run(x: ti.f32) -> ti.f32:
        a = Ray(origin=tm.vec3(x, 0, 0), direction=tm.vec3(1), hits=1, alive=True)
        b = Ray(origin=tm.vec3(0, 2, 0), direction=tm.vec3(2), hits=2, alive=True)
        pair, which = farther(a, b)
        return pair.t * 100 + which * 10 + pair.ray.hits

    assert [run(x) for x in (1.0, 3.0)] == [212.0, 101.0]


def test_a_struct_where_the_end_has_no_return(target: str) -> None:
    @ti.real_func
    def maybe(x: ti.i32) -> Pair:
        result = Pair(t=1.0)
        if x > 0:
            result.ray.hits = x
            return result

    @ti.kernel
    def run(x: ti.i32) -> ti.f32:
        found = maybe(x)
        return found.t * 10 + found.ray.hits

    with pytest.warns(ti.ShadesmithWarning, match="may end"):
        assert run(-2) == 0.0
    assert run(4) == 14.0


def test_another_struct_is_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    other = ti.types.struct(x=ti.f32)

    @ti.kernel
    def run() -> tm.vec3:
        return at(other(x=1.0), 1.0)

    with pytest.raises(ti.TaichiTypeError, match="structs"):
        run()
