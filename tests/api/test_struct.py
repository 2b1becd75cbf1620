"""Structs in Python scope; what is not our own is measured on Taichi 1.7.4."""

from __future__ import annotations

import copy

import pytest

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)
Basic = ti.types.struct(a=ti.i32, v=vec3, b=float)
Nested = ti.types.struct(s=Basic, k=ti.u8)


@ti.dataclass
class Particle:
    pos: vec3
    mass: ti.f32

    @ti.func
    def energy(self):
        return self.mass * self.pos.norm()

    @ti.pyfunc
    def half(self):
        return self.mass / 2

    def plain(self):
        return self.mass * 3


VALUES = [
    (lambda: Basic(), {"a": 0, "v": [0.0, 0.0, 0.0], "b": 0.0}),
    (lambda: Basic(1), {"a": 1, "v": [0.0, 0.0, 0.0], "b": 0.0}),
    (lambda: Basic(1.7, 2, 3), {"a": 1, "v": [2.0, 2.0, 2.0], "b": 3.0}),
    (lambda: Basic(b=2.5, v=[1, 2, 3]), {"a": 0, "v": [1.0, 2.0, 3.0], "b": 2.5}),
    (lambda: Nested(Basic(1, 2, 3), 4), {"s": {"a": 1, "v": [2.0, 2.0, 2.0], "b": 3.0}, "k": 4}),
    (lambda: Nested(s={"a": 1, "v": [1, 2, 3], "b": 3}, k=1), {"s": {"a": 1, "v": [1, 2, 3], "b": 3}, "k": 1}),
    (lambda: Nested(), {"s": {"a": 0, "v": [0.0, 0.0, 0.0], "b": 0.0}, "k": 0}),
    (lambda: Basic.filled_with_scalar(3), {"a": 3, "v": [3.0, 3.0, 3.0], "b": 3}),
    (lambda: Basic.cast(ti.Struct(a=1.5, v=[1, 2, 3], b=1)), {"a": 1, "v": [1.0, 2.0, 3.0], "b": 1.0}),
    (lambda: ti.Struct(a=1, b=2.5), {"a": 1, "b": 2.5}),
    (lambda: ti.Struct({"a": 1, "b": {"c": [1, 2]}}), {"a": 1, "b": {"c": [1, 2]}}),
    (lambda: ti.Struct(a=1, __struct_methods={}), {"a": 1}),
    (lambda: Particle(mass=2), {"pos": [0.0, 0.0, 0.0], "mass": 2.0}),
]


@pytest.mark.parametrize(("make", "expected"), VALUES, ids=range(len(VALUES)))
def test_value(make, expected) -> None:
    assert make().to_dict() == expected
    assert str(make()) == repr(make()) == str(make().to_dict())


def test_members_are_read_and_written() -> None:
    s = Basic(1, [1, 2, 3], 4)
    assert (s.keys, len(s), s["a"], s.v.y) == (["a", "v", "b"], 3, 1, 2)
    assert list(s.entries) == s.keys and dict(s.items)["b"] == 4.0 and s.methods == {}
    s.a, s["b"], s.v = 7, 9, [3, 2, 1]
    s.v.x = 70
    assert s.to_dict() == {"a": 7, "v": [70, 2, 1], "b": 9}
    with pytest.raises(AttributeError, match="no member `zzz`"):
        s.zzz = 1
    with pytest.raises(AttributeError, match="it has a, v, b"):
        _ = s.zzz
    with pytest.raises(TypeError, match="A number is expected"):
        s.a = Basic()


def test_assigning_a_struct_copies_it() -> None:
    inner, outer = Basic(1, 2, 3), Nested()
    outer.s = inner
    inner.a = 99
    inner.v.x = 99
    assert outer.s.a == 1 and outer.s.v.x == 2
    copied = copy.deepcopy(outer)
    copied.s.a = 5
    assert outer.s.a == 1
    with pytest.raises(ti.TaichiTypeError, match="Member mismatch between structs"):
        outer.s = {"a": 1}
    with pytest.raises(ti.TaichiTypeError, match="Only dict or Struct can be assigned to a Struct"):
        outer.s = 3


def test_to_dict_with_methods_and_axes() -> None:
    assert Basic(1, 2, 3).to_dict(False, True)["__matrix_ndim"] == {"v": 1}
    assert set(Particle().to_dict(include_methods=True)["__struct_methods"]) == {"energy", "half", "plain"}


def test_types_know_their_members() -> None:
    assert list(Basic.members) == ["a", "v", "b"] and Basic.members["a"] == ti.i32 and Basic.methods == {}
    assert Nested.members["s"] is Basic
    assert isinstance(Basic(), Basic) and not isinstance(Basic(), Nested) and isinstance(Basic(), ti.Struct)
    assert str(ti.types.struct(a=ti.i32, b=ti.f32)) == "<ti.StructType a=i32, b=f32, struct_methods={}>"
    assert repr(Basic) == "<struct type Basic>" and repr(Particle) == "<struct type Particle>"


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Basic(1, 2, 3, 4), ti.TaichiSyntaxError, "`Basic` has 3 members, found 4"),
        (lambda: Basic(q=1), ti.TaichiSyntaxError, "no member `q`"),
        (lambda: Basic(1, a=2), ti.TaichiSyntaxError, "Multiple values for member `a`"),
        (lambda: Basic("x"), ti.TaichiTypeError, "Member `a` is a number of type i32"),
        (lambda: Basic.cast(ti.Struct(a=1)), ti.TaichiSyntaxError, "Incompatible arguments"),
        (lambda: ti.Struct(1), ti.TaichiSyntaxError, "dictionary or keyword arguments"),
        (lambda: ti.Struct({"a": 1}, b=2), ti.TaichiSyntaxError, "dictionary or keyword arguments"),
        (lambda: ti.types.struct(a=3), ValueError, "Invalid data type 3"),
        (lambda: ti.types.struct(a="x"), ValueError, "Invalid data type x"),
    ],
)
def test_misuse(call, error, message) -> None:
    with pytest.raises(error, match=message):
        call()


def test_methods_in_python_scope() -> None:
    p = Particle(mass=3)
    assert p.half() == 1.5 and p.plain() == 9
    with pytest.raises(ti.TaichiSyntaxError, match="Taichi functions cannot be called from Python-scope"):
        p.energy()
    typed = ti.types.struct(a=float, __struct_methods={"twice": lambda self: self.a * 2})
    assert typed(2).twice() == 4


def test_a_dataclass_takes_no_defaults_and_inherits() -> None:
    with pytest.raises(ti.TaichiSyntaxError, match="Default value in @dataclass is not supported"):

        @ti.dataclass
        class Wrong:
            a: ti.i32 = 3

    class Base:
        a: ti.i32

        def first(self):
            return self.a

    @ti.dataclass
    class Derived(Base):
        b: ti.i32

    assert Derived(1, 2).to_dict() == {"a": 1, "b": 2} and Derived(1, 2).first() == 1
