"""NumPy's structured arrays as kernel arguments, and structs of Python scope beside other libraries, on every target."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)


@ti.dataclass
class Particle:
    pos: vec3
    mass: ti.f32
    number: ti.i64

    @ti.func
    def push(self, by):
        self.pos += by


PARTICLE = np.dtype([("pos", "f4", 3), ("mass", "f4"), ("number", "i8")], align=True)
NESTED = np.dtype(
    [("m", "f8", (2, 2)), ("s", np.dtype([("a", "i4"), ("b", "u1")], align=True)), ("u", "?")], align=True
)


@ti.kernel
def push(x: ti.types.ndarray(dtype=Particle, ndim=1)):
    for i in x:
        x[i].push(x[i].mass)
        x[i].number += x.shape[0]


@ti.kernel
def change(x: ti.types.ndarray()):
    for i, j in x:
        x[i, j].m[1, 0] = i * 10 + j
        x[i, j].s.a = x[i, j].s.b + 1
        x[i, j].u = i == j


@pytest.mark.parametrize("count", [0, 1, 5, 130])
def test_arrays_of_the_annotated_struct_are_changed(target: str, count: int) -> None:
    x = np.zeros(count, PARTICLE)
    x["mass"] = np.arange(count)
    push(x)
    np.testing.assert_array_equal(x["pos"], np.repeat(np.arange(count)[:, None], 3, 1))
    assert (x["number"] == count).all()


def test_members_are_found_without_an_annotation(target: str) -> None:
    x = np.zeros((2, 3), NESTED)
    x["s"]["b"] = 200
    change(x)
    assert x["m"][:, :, 1, 0].tolist() == [[0, 1, 2], [10, 11, 12]] and x["m"].sum() == 36
    assert (x["s"]["a"] == 201).all() and x["u"].tolist() == [[True, False, False], [False, True, False]]


def test_parts_of_arrays_are_used_in_place(target: str) -> None:
    x = np.zeros(10, PARTICLE)
    x["mass"] = 1
    push(x[1::3])
    assert x["number"].tolist() == [0, 3, 0, 0, 3, 0, 0, 3, 0, 0]
    push(x[::-1])
    assert x["number"].tolist() == [10, 13, 10, 10, 13, 10, 10, 13, 10, 10]
    push(x[4:5])
    assert x["number"][4] == 14


def test_arrays_of_structs_and_fields_exchange_elements(target: str) -> None:
    x, field = np.zeros(4, PARTICLE), Particle.field(shape=4, layout=ti.Layout.SOA)

    @ti.kernel
    def move(x: ti.types.ndarray(dtype=Particle, ndim=1)):
        for i in field:
            field[i].number = x[i].number * 2
            x[i] = field[i]

    x["number"] = np.arange(4)
    field.pos.fill(3)
    move(x)
    assert x["number"].tolist() == [0, 2, 4, 6] and (x["pos"] == 3).all()
    field.from_numpy(x)
    assert field[3].number == 6


def test_other_members_are_refused(target: str) -> None:
    other = np.zeros(3, [("pos", "f4", 3), ("number", "i8"), ("mass", "f4")])
    with pytest.raises(
        ti.TaichiRuntimeTypeError, match=r"takes structs `Particle\{.*numpy.dtype\(\[\('pos', 'f4', 3\)"
    ):
        push(other)
    with pytest.raises(ti.TaichiRuntimeTypeError, match="needs dtype=Particle"):
        push(np.zeros(3, np.float32))
    for dtype, text in {
        (("a", "i1"), ("b", "f8")): "have other offsets than in C.*align=True",
        (("a", "U4"),): "member `a` .<U4. kernels cannot hold",
        (("a", ">f4"),): "member `a` .>f4. kernels cannot hold",
        (("a b", "f4"),): "not identifiers",
    }.items():
        with pytest.raises(ti.TaichiRuntimeTypeError, match=text):
            change(np.zeros((2, 2), list(dtype)))


def test_read_only_arrays_are_refused_where_they_are_written(target: str) -> None:
    x = np.zeros(3, PARTICLE)
    x.flags.writeable = False
    with pytest.raises(ti.TaichiRuntimeTypeError, match="read-only"):
        push(x)


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_elements_of_struct_fields_in_python_scope(target: str, layout: ti.Layout) -> None:
    inner = ti.types.struct(v=vec3, n=ti.i32)
    field = ti.types.struct(a=inner, b=ti.f64, u=ti.u8).field(shape=(2, 3), layout=layout)
    field[1, 2].a.v.y = 5
    field[1, 2].a.n = 2**31
    field[1, 2].b = 0.1
    field[1, 2].u = 260
    field[1, 2].a.v[0] += 2
    element = field[1, 2]
    assert element.a.v.to_list() == [2, 5, 0] and element.a.n == -(2**31) and element.b == 0.1 and element.u == 4
    element.a = {"v": [1, 2, 3], "n": 4}
    assert field[1, 2].to_dict() == {"a": {"v": [1, 2, 3], "n": 4}, "b": 0.1, "u": 4}
    assert field[0, 0].to_dict() == {"a": {"v": [0, 0, 0], "n": 0}, "b": 0, "u": 0}
    assert element.keys == ["a", "b", "u"] and len(element) == 3
    with pytest.raises(TypeError, match="holds i32"):
        element.a.n = 1.5
    with pytest.raises(AttributeError, match="no member"):
        element.c = 1


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_structs_to_and_from_torch(target: str, layout: ti.Layout) -> None:
    torch = pytest.importorskip("torch")
    kind = ti.types.struct(a=ti.types.struct(v=vec3, n=ti.i32), b=ti.f64)
    field, other = kind.field(shape=4, layout=layout), kind.ndarray(4)
    field.a.v.fill([1, 2, 3])
    field.b[2] = 5
    found = field.to_torch()
    assert found["a"]["v"].shape == (4, 3) and found["b"].dtype == torch.float64 and found["b"].sum() == 5
    found["a"]["n"] += 7
    other.from_torch(found)
    assert other[2].to_dict() == {"a": {"v": [1, 2, 3], "n": 7}, "b": 5} and field[2].a.n == 0
