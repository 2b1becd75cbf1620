"""Structs in kernels on every target: values, members, arguments, results, methods. Values are Taichi 1.7.4's."""

import math

import numpy as np
import pytest

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)
mat2 = ti.types.matrix(2, 2, ti.f32)
Basic = ti.types.struct(a=ti.i32, v=vec3, b=ti.f32)
Nested = ti.types.struct(s=Basic, k=ti.u8)
Mixed = ti.types.struct(d=ti.f64, f=ti.f32, n=ti.i64, c=ti.u8, t=ti.u1, m=mat2, h=ti.i16)
Holder = ti.types.struct(x=Mixed, y=ti.f32, z=Mixed)
CONSTANT = Basic(1, 2, 3)


@ti.dataclass
class Particle:
    pos: vec3
    mass: ti.f32

    @ti.func
    def energy(self):
        return self.mass * self.pos.norm()

    @ti.func
    def grow(self, amount):
        self.mass += amount

    @ti.func
    def moved(self, by):
        return Particle(self.pos + by, self.mass)

    def doubled(self):
        return self.mass * 2


@ti.func
def set_in_place(s: ti.template()):
    s.a = 42


@ti.func
def set_copy(s: Basic):
    s.a = 43
    return s


@ti.func
def sign_of(x):
    result = Basic(a=0)
    if x < 0:
        result = Basic(a=-1, b=x)
    elif x > 0:
        return Basic(1, x, x)
    return result


def test_assignment_copies(target: str) -> None:
    @ti.kernel
    def copies() -> Basic:
        s = Basic(1, 2, 3)
        t = s
        t.a = 8
        s.v.x = 11
        return t

    assert copies().to_dict() == {"a": 8, "v": [2, 2, 2], "b": 3}


def test_missing_members_are_zero_and_values_are_cast(target: str) -> None:
    @ti.kernel
    def partial() -> Nested:
        return Nested(s=Basic(a=2.7), k=300)

    with pytest.warns(ti.ShadesmithWarning, match="300 does not fit `u8`"):
        found = partial()
    assert found.to_dict() == {"s": {"a": 2, "v": [0, 0, 0], "b": 0}, "k": 44}


def test_nested_arguments_and_results(target: str) -> None:
    @ti.kernel
    def through(x: Nested, scale: ti.f32) -> Nested:
        x.s.v *= scale
        x.s.v[1] += x.k
        x.s.a += 1
        return x

    value = Nested(Basic(1, [1, 2, 3], 0.5), 7)
    assert through(value, 2).to_dict() == {"s": {"a": 2, "v": [2, 11, 6], "b": 0.5}, "k": 7}
    assert through({"s": {"a": 5, "v": [0, 0, 0], "b": 0}, "k": 1}, 1).s.a == 6
    assert value.s.a == 1


@pytest.mark.parametrize("dtype", [ti.i8, ti.u16, ti.i64, ti.u64, ti.f64, ti.u1, ti.f16], ids=str)
def test_members_of_every_number_type(target: str, dtype: ti.types) -> None:
    pair = ti.types.struct(small=dtype, wide=ti.f32)
    box = ti.types.struct(inner=pair, last=dtype)
    field = box.field(shape=2)

    @ti.kernel
    def swap(x: box) -> box:
        field[1] = x
        field[0].inner.small = field[1].last
        field[0].last = x.inner.small
        made = box(field[0].inner, field[0].last)
        made.inner.wide += 1.5
        return made

    found = swap(box(pair(1, 2.5), 0))
    assert (found.inner.small, found.inner.wide, found.last) == (0, 1.5, 1)
    assert (field[1].inner.small, field[1].inner.wide, field[1].last) == (1, 2.5, 0)


def test_layout_of_mixed_members_is_that_of_c(target: str) -> None:
    field = Holder.field(shape=3)
    ends = field.x.d.to_numpy().nbytes  # read before any launch
    assert ends == 24

    @ti.kernel
    def fill():
        for i in field:
            x = Mixed(i + 0.5, i + 1, ti.i64(2**40) + i, i + 2, i % 2 == 1, [[i, 1], [2, 3]], -i)
            field[i] = Holder(x, 7 + i, x)
            field[i].z.n += 1
            field[i].z.m[1, 0] = 9

    fill()
    for i in range(3):
        x = {"d": i + 0.5, "f": i + 1, "n": 2**40 + i, "c": i + 2, "t": i == 1, "m": [[i, 1], [2, 3]], "h": -i}
        z = {**x, "n": x["n"] + 1, "m": [[i, 1], [9, 3]]}
        assert field[i].to_dict() == {"x": x, "y": 7 + i, "z": z}


def test_structs_inside_results_and_across_tasks_keep_their_gaps(target: str) -> None:
    tail = ti.types.struct(d=ti.f64, c=ti.u8)
    outer = ti.types.struct(first=tail, after=ti.u8, second=tail)
    n = ti.field(ti.i32, 4)

    @ti.kernel
    def cross(k: ti.i32) -> (outer, ti.i32, outer):
        s = outer(tail(k + 0.25, 3), 4, tail(-k, 5))
        for i in n:
            n[i] = i + s.after
        s.second.c += n[2]
        return s, n[3], outer(s.second, 9, s.first)

    first, middle, last = cross(2)
    assert first.to_dict() == {"first": {"d": 2.25, "c": 3}, "after": 4, "second": {"d": -2, "c": 11}}
    assert middle == 7
    assert last.to_dict() == {"first": {"d": -2, "c": 11}, "after": 9, "second": {"d": 2.25, "c": 3}}


def test_a_variable_changed_by_a_parallel_loop(target: str) -> None:
    n = ti.field(ti.i32, 100)

    @ti.kernel
    def total() -> Basic:
        s = Basic(1, 2, 3)
        for i in n:
            s.a += i
            s.v.y += 1.0
            s.b -= 1.0
        return s

    assert total().to_dict() == {"a": 4951, "v": [2, 102, 2], "b": -97}


def test_ternary_and_branches(target: str) -> None:
    @ti.kernel
    def choose(c: ti.i32) -> (Basic, Basic):
        s = Basic(1, 2, 3)
        u = Basic(4, 5, 6)
        picked = s if c > 0 else u
        if c == 0:
            s = u
        elif c > 1:
            s.v = [7, 8, 9]
        return picked, s

    for c, a, v, expected in ((0, 4, 5, [5, 5, 5]), (1, 1, 2, [2, 2, 2]), (2, 1, 2, [7, 8, 9])):
        picked, s = choose(c)
        assert (picked.a, picked.v.x, s.v.to_list()) == (a, v, expected)


def test_functions_return_structs_from_several_places(target: str) -> None:
    @ti.kernel
    def signs(x: ti.f32) -> (ti.i32, ti.f32):
        s = sign_of(x)
        return s.a, s.b

    assert [signs(x) for x in (-2.5, 0.0, 3.0)] == [(-1, -2.5), (0, 0.0), (1, 3.0)]


def test_functions_take_structs_by_value_and_templates_by_reference(target: str) -> None:
    field = Basic.field(shape=2)

    @ti.kernel
    def call() -> ti.i32:
        s = Basic(1, 2, 3)
        set_in_place(s)
        set_in_place(field[0])
        u = set_copy(s)
        w = set_copy(field[1])
        return s.a * 1000000 + field[0].a * 10000 + u.a * 100 + field[1].a + w.a

    assert call() == 42 * 1000000 + 42 * 10000 + 43 * 100 + 43


def test_methods_change_the_struct_they_are_called_on(target: str) -> None:
    field = Particle.field(shape=3)

    @ti.kernel
    def methods() -> ti.f32:
        p = Particle(mass=2, pos=[0, 3, 4])
        p.grow(1.0)
        field[1] = p
        field[1].grow(2.0)
        q = p.moved([0, 0, 1])
        return p.energy() + field[1].mass * 100 + q.pos.z * 1000 + Particle(mass=1).doubled() * 10000

    assert methods() == 15 + 500 + 5000 + 20000


def test_methods_are_those_of_the_type_not_of_its_members(target: str) -> None:
    def shape(factor: int):
        @ti.dataclass
        class Shape:
            size: ti.i32

            @ti.func
            def area(self):
                return self.size * factor

        return Shape

    Small, Large = shape(1), shape(100)

    @ti.kernel
    def areas() -> ti.i32:
        return Small(3).area() + Large(3).area()

    assert areas() == 303


def test_structs_made_in_the_kernel(target: str) -> None:
    @ti.kernel
    def anonymous() -> ti.f32:
        s = ti.Struct(a=1, b=2.5)
        u = ti.Struct({"a": s, "c": 3, "d": {"e": 4.0}})
        u.a.b += 2
        s.a = 4
        return u.a.b + s.b + s.a + u.d.e

    assert anonymous() == 15


def test_another_struct_of_the_same_members_is_converted(target: str) -> None:
    @ti.kernel
    def convert() -> Basic:
        s = Basic(a=1)
        s = ti.Struct(b=2, v=ti.Vector([1, 2, 3]), a=s.a + 4.0)
        s.b += 0
        return s

    assert convert().to_dict() == {"a": 5, "v": [1, 2, 3], "b": 2}


def test_python_structs_are_constants(target: str) -> None:
    @ti.kernel
    def constant() -> (ti.f32, Basic):
        s = CONSTANT
        s.a = 5
        return CONSTANT.a + CONSTANT.v.y + s.a, s

    number, struct = constant()
    assert number == 8 and struct.to_dict() == {"a": 5, "v": [2, 2, 2], "b": 3}
    assert CONSTANT.a == 1 and constant.captured()["CONSTANT"] is CONSTANT


def test_struct_values_as_templates(target: str) -> None:
    @ti.kernel
    def read(x: ti.template()) -> ti.f32:
        return x.a + x.v.x

    assert read(Basic(1, 2, 3)) == 3


def test_keys_items_and_subscripts(target: str) -> None:
    field = Basic.field(shape=1)

    @ti.kernel
    def queries() -> ti.f32:
        s = Basic(1, 2, 3)
        r = s["b"] + s.entries["a"] + s.to_dict()["b"]
        for name in ti.static(field.keys):
            if ti.static(name == "v"):
                r += s.v.sum() * 10
        for member in ti.static([field.a, field.get_member_field("b")]):
            member[0] = 4
        return r + field[0].a * 100 + field[0].b * 1000

    assert queries() == 7 + 60 + 400 + 4000


def test_filled_and_cast(target: str) -> None:
    @ti.kernel
    def made() -> (Nested, Basic):
        return Nested.filled_with_scalar(3), Basic.cast(ti.Struct(a=1.5, v=[1, 2, 3], b=1))

    filled, cast = made()
    assert filled.to_dict() == {"s": {"a": 3, "v": [3, 3, 3], "b": 3}, "k": 3}
    assert cast.to_dict() == {"a": 1, "v": [1, 2, 3], "b": 1}


def test_static_loops_and_swizzles(target: str) -> None:
    @ti.kernel
    def swizzled(n: ti.i32) -> Basic:
        s = Basic(0, [1, 2, 3], 0)
        for k in ti.static(range(3)):
            s.v[k] += k
            s.a += ti.cast(s.v[n], ti.i32)
        s.v.xy = s.v.yx
        s.v[n] *= 10
        return s

    assert swizzled(2).to_dict() == {"a": 3 + 3 + 5, "v": [3, 1, 50], "b": 0}
    assert swizzled(0).to_dict() == {"a": 3, "v": [30, 1, 5], "b": 0}


def test_structs_in_serial_loops_and_conditions(target: str) -> None:
    @ti.kernel
    def walk(n: ti.i32) -> Basic:
        best = Basic(a=-1)
        k = 0
        while k < n:
            candidate = Basic(k, k, (k * 7) % 5)
            if candidate.b >= best.b:
                best = candidate
            k += 1
        return best

    assert walk(0).a == -1
    assert walk(9).to_dict() == {"a": 7, "v": [7, 7, 7], "b": 4}


def test_structs_print_as_python_shows_them(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    @ti.kernel
    def show():
        n = Nested(Basic(1, [1, 2, 3], 2.5), 4)
        print(n)
        print("s:", n.s, CONSTANT, f" {n.s.v:.1f}", sep="")

    show()
    ti.sync()
    inner = "{'a': 1, 'v': [1.000000, 2.000000, 3.000000], 'b': 2.500000}"
    constant = "{'a': 1, 'v': [2.000000, 2.000000, 2.000000], 'b': 3.000000}"
    assert capfd.readouterr().out == f"{{'s': {inner}, 'k': 4}}\ns:{inner}{constant} [1.0, 2.0, 3.0]\n"


def test_frexp_is_a_struct(target: str) -> None:
    @ti.kernel
    def split(x: ti.f32) -> ti.f32:
        pair = ti.frexp(x)
        pair = ti.frexp(x * 2)
        mantissa, exponent = pair
        pair.exponent += 10
        return mantissa * 100 + exponent + pair.exponent * 1000

    mantissa, exponent = math.frexp(12.0)
    assert split(6.0) == mantissa * 100 + exponent + (exponent + 10) * 1000


def test_a_module_that_uses_words_of_the_targets(target: str) -> None:
    odd = ti.types.struct(int=ti.i32, length=ti.f32, out=ti.i32, BLOCK=ti.i32, padding=ti.f64, tail=ti.f32)
    Args = ti.types.struct(args=odd, task=ti.i32)
    field = Args.field(shape=2)

    @ti.kernel
    def words() -> ti.f64:
        for i in field:
            field[i].args.length += i
            field[i].args.BLOCK = 3
        a = Args(odd(1, 2, 3, 4, 5, 6), 7)
        a.args.out += field[1].args.BLOCK
        return a.args.int + a.args.length + a.args.out + a.args.padding + field[1].args.length

    assert words() == 1 + 2 + 6 + 5 + 1


def test_an_empty_struct(target: str) -> None:
    nothing = ti.types.struct()

    @ti.kernel
    def empty(x: nothing) -> nothing:
        y = nothing()
        y = x
        return y if y.keys == x.keys else nothing()

    assert empty(nothing()).to_dict() == {}
    with pytest.raises(ti.TaichiRuntimeError, match="without members"):
        nothing.field(shape=1)


def test_atomics_on_members_give_the_old_value(target: str) -> None:
    pair = ti.types.struct(low=ti.f32, high=ti.i32, wide=ti.f32, m=mat2)
    field = pair.field(shape=2)
    old = ti.field(ti.i32, 50)

    @ti.kernel
    def reduce():
        for i in old:
            old[i] = ti.atomic_add(field[1].high, 1)
            ti.atomic_min(field[1].low, -i)
            ti.atomic_max(field[1].wide, i)
            ti.atomic_max(field[1].m[1, 0], i)
            field[0].m += 1.0

    reduce()
    assert sorted(old.to_numpy()) == list(range(50))
    assert field[1].to_dict() == {"low": -49, "high": 50, "wide": 49, "m": [[0, 0], [49, 0]]}
    assert field[0].m.to_list() == [[50, 50], [50, 50]]


def test_debug_checks_indices_into_members() -> None:
    ti.init(arch=ti.cpu, debug=True, log_level=ti.ERROR)
    field = Basic.field(shape=2)

    @ti.kernel
    def outside(i: ti.i32, k: ti.i32) -> ti.f32:
        return field[i].v[k]

    assert outside(1, 2) == 0
    for i, k in ((2, 0), (0, 3)):
        with pytest.raises(ti.TaichiAssertionError):
            outside(i, k)
    ti.reset()


def test_the_text_keeps_the_names_of_types_and_members() -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    field = Nested.field(shape=2)

    @ti.kernel
    def write(x: Basic):
        for i in field:
            field[i].s.v.x = x.b

    for arch in (ti.cpu, ti.vulkan, ti.cuda):
        text = write.source(arch=arch)
        assert "field(i).s.v.x = args.x_b;" in text
        assert "Nested" in text and "Basic" in text
        assert text == write.source(arch=arch)
    assert "struct Nested {s: Basic, k: u8}" in write.ir("final")
    ti.reset()


def test_numpy_reads_the_memory_of_structs(target: str) -> None:
    field = Nested.field(shape=(2, 2))

    @ti.kernel
    def fill():
        for i, j in field:
            field[i, j] = Nested(Basic(i, [i, j, 0], j), i + j)

    fill()
    whole = np.asarray(field)
    assert whole.dtype.itemsize == 24 and whole["k"].tolist() == [[0, 1], [1, 2]]
    assert whole["s"]["v"][1, 1].tolist() == [1, 1, 0]
