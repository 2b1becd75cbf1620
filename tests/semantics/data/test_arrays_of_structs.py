"""Fields and ndarrays of structs, from Python and in kernels, on every target."""

import pickle

import numpy as np
import pytest

import shadesmith as ti

vec3 = ti.types.vector(3, ti.f32)
Basic = ti.types.struct(a=ti.i32, v=vec3, b=ti.f32)
Nested = ti.types.struct(s=Basic, k=ti.u8)


@ti.dataclass
class Particle:
    pos: vec3
    mass: ti.f32

    @ti.func
    def push(self, by):
        self.pos += by

    @ti.pyfunc
    def half(self):
        return self.mass / 2


def test_a_loop_over_a_field_of_structs(target: str) -> None:
    field = Basic.field(shape=(2, 3))

    @ti.kernel
    def fill():
        for i, j in field:
            field[i, j].a += i * 10 + j
            field[i, j].v.x += 1
            field[i, j].v += 2.0
        for I in ti.grouped(field):
            field[I].b = field[I].a

    fill()
    found = field.to_numpy()
    assert found["a"].tolist() == [[0, 1, 2], [10, 11, 12]]
    assert found["v"].shape == (2, 3, 3) and found["v"][1, 2].tolist() == [3, 2, 2]
    assert found["b"].tolist() == found["a"].tolist()


def test_elements_are_assigned_whole(target: str) -> None:
    field = Basic.field(shape=3)

    @ti.kernel
    def move():
        field[0] = Basic(field[0].a, field[0].v, 1)
        field[1] = field[0]
        field[1].v = [1, 2, 3]
        field[2] = {"a": 4, "v": [4, 5, 6], "b": 7}

    field[0].a = 5
    move()
    assert field.to_numpy()["a"].tolist() == [5, 5, 4]
    assert field.to_numpy()["v"].tolist() == [[0, 0, 0], [1, 2, 3], [4, 5, 6]]
    assert field.to_numpy()["b"].tolist() == [1, 1, 7]


def test_two_elements_are_swapped(target: str) -> None:
    field = Basic.field(shape=2)
    field[0] = Basic(1, 2, 3)

    @ti.kernel
    def swap():
        field[0], field[1] = field[1], field[0]
        first = field[0]
        field[0].a = 9
        field[1].b = first.a + field[0].a

    swap()
    assert field[0].to_dict() == {"a": 9, "v": [0, 0, 0], "b": 0}
    assert field[1].to_dict() == {"a": 1, "v": [2, 2, 2], "b": 9}


def test_members_are_fields(target: str) -> None:
    field = Nested.field(shape=4)
    a, v = field.s.a, field.s.v

    @ti.kernel
    def through(m: ti.template(), whole: ti.template()) -> ti.i32:
        for i in m:
            m[i] += i
        for i in field.s.v:
            field.s.v[i].y = a[i] * 2
            v[i][2] -= 1
        whole.k.fill(3)
        return m.shape[0] + field.s.v.n + whole.s.a[3]

    assert through(a, field) == 4 + 3 + 3
    assert a.to_numpy().tolist() == [0, 1, 2, 3] and a.dtype == ti.i32 and a.shape == (4,)
    assert v.to_numpy().tolist() == [[0, 2 * i, -1] for i in range(4)]
    assert field.k.to_numpy().tolist() == [3] * 4
    assert isinstance(a, ti.ScalarField) and isinstance(v, ti.MatrixField) and isinstance(field.s, ti.StructField)


@pytest.mark.parametrize("layout", [ti.Layout.AOS, ti.Layout.SOA])
def test_members_may_have_the_names_of_our_attributes(target: str, layout: ti.Layout) -> None:
    members = {"parent": ti.i32, "type": ti.i32, "offset": vec3, "grad": ti.f32, "fill": ti.i32, "memory": ti.i32}
    Node = ti.types.struct(name=ti.i32, **members)
    nodes = Node.field(shape=3, layout=layout)

    @ti.kernel
    def number():
        for i in nodes:
            nodes[i].parent = i - 1
            nodes.type[i] = 2 * i
            nodes[i].offset = vec3(i, 0, 1)

    number()
    nodes.grad.fill(1.5)
    nodes[2].memory = 4
    assert nodes.parent.to_numpy().tolist() == [-1, 0, 1]
    assert nodes.type.to_numpy().tolist() == [0, 2, 4]
    assert nodes.offset[2].to_list() == [2, 0, 1]
    assert [nodes.grad[1], nodes.memory[2], nodes.fill[0], nodes.name[0]] == [1.5, 4, 0, 0]
    assert (nodes.shape, nodes.keys) == ((3,), ["name", *members])
    assert "Struct.field of {name, parent" in repr(nodes)


def test_such_members_of_ndarrays(target: str) -> None:
    Node = ti.types.struct(parent=ti.i32, type=ti.f32)
    nodes = Node.ndarray(shape=3)

    @ti.kernel
    def number(nodes: ti.types.ndarray(Node, 1)):
        for i in nodes:
            nodes[i] = Node(i - 1, 0.5 * i)

    number(nodes)
    assert nodes.parent.to_numpy().tolist() == [-1, 0, 1]
    assert nodes[1:].type.to_numpy().tolist() == [0.5, 1]
    assert pickle.loads(pickle.dumps(nodes)).type.to_numpy().tolist() == [0, 0.5, 1]


def test_member_fields_in_python_scope(target: str) -> None:
    field = Nested.field(shape=2)
    field.s.a[1] = 7
    field.s.v[0] = [1, 2, 3]
    field.s.v[0].x = 9
    field.k.fill(5)
    field.s.b.from_numpy(np.array([0.5, 1.5]))
    other = ti.field(ti.f32, 2)
    other.copy_from(field.s.b)
    assert field[1].s.a == 7 and field[0].s.v.to_list() == [9, 2, 3] and field[1].k == 5
    assert other.to_numpy().tolist() == [0.5, 1.5]
    field.s.b.copy_from(ti.field(ti.f32, 2))
    assert field.s.b.to_numpy().tolist() == [0, 0] and field[1].s.a == 7
    assert field.s.v.get_scalar_field(0)[0] == 9


def test_elements_read_and_write_through(target: str) -> None:
    field = Nested.field(shape=())
    element = field[None]
    element.s.a = 5
    element.s.v.y = 6
    element.k = 300
    element.s.b = 0.25
    assert field[None].to_dict() == {"s": {"a": 5, "v": [0, 6, 0], "b": 0.25}, "k": 44}
    field[None].s = Basic(1, 2, 3)
    assert element.s.a == 1
    field[None] = {"s": {"a": 3, "v": [1, 1, 1], "b": 2}, "k": 1}
    assert element.to_dict() == {"s": {"a": 3, "v": [1, 1, 1], "b": 2}, "k": 1}
    with pytest.raises(ti.TaichiSyntaxError, match="Incompatible arguments"):
        field[None] = {"k": 3}
    with pytest.raises(ti.TaichiSyntaxError):
        field[None] = 3


def test_whole_fields_to_and_from_numpy(target: str) -> None:
    field, other = Nested.field(shape=2), Nested.field(shape=2)
    field.fill(3)
    assert field[1].to_dict() == {"s": {"a": 3, "v": [3, 3, 3], "b": 3}, "k": 3}
    values = {"s": {"a": np.arange(2), "v": np.ones((2, 3)), "b": np.zeros(2)}, "k": np.array([8, 9])}
    field.from_numpy(values)
    other.copy_from(field)
    found = other.to_numpy()
    assert found["s"]["a"].tolist() == [0, 1] and found["k"].dtype == np.uint8 and found["s"]["v"].sum() == 6
    other.from_numpy(np.asarray(field))
    assert other.to_numpy()["k"].tolist() == [8, 9]
    with pytest.raises(KeyError):
        field.from_numpy({"k": np.array([8, 9])})
    with pytest.raises(ValueError, match="member `a`"):
        field.from_numpy({**values, "s": {**values["s"], "a": np.arange(3)}})
    with pytest.raises(KeyError):
        field.get_member_field("z")
    with pytest.raises(AttributeError, match="no member `z`"):
        _ = field.z


def test_fill_in_kernels(target: str) -> None:
    field = Basic.field(shape=3)

    @ti.kernel
    def fill():
        field.fill(2)
        field.v.fill([1, 2, 3])

    fill()
    assert field[2].to_dict() == {"a": 2, "v": [1, 2, 3], "b": 2}


@pytest.mark.parametrize("count", [1, 5, 130])
def test_ndarrays_of_structs(target: str, count: int) -> None:
    array = ti.ndarray(Particle, count)

    @ti.kernel
    def push(x: ti.types.ndarray(dtype=Particle, ndim=1), y: ti.types.ndarray()):
        for i in x:
            x[i].mass = i
            x[i].push([i, 0, 1])
            y[i] = x[i]
            y[i].pos.y = x.shape[0]

    copy = ti.ndarray(Particle, shape=(count,))
    push(array, copy)
    last = count - 1
    assert array[last].to_dict() == {"pos": [last, 0, 1], "mass": last}
    assert copy[last].to_dict() == {"pos": [last, count, 1], "mass": last}
    assert array[last].half() == last / 2
    assert array.to_numpy()["mass"].tolist() == list(range(count))
    assert array.pos[0].to_list() == [0, 0, 1]
    array.mass[0] = 7
    assert array[0].mass == 7


def test_an_empty_ndarray_of_structs(target: str) -> None:
    array = ti.ndarray(Particle, 0)

    @ti.kernel
    def count(x: ti.types.ndarray(dtype=Particle, ndim=1)) -> ti.i32:
        n = 0
        for i in x:
            n += 1
        return n

    assert count(array) == 0 and array.to_numpy()["pos"].shape == (0, 3)


def test_ndarrays_of_another_struct_are_refused(target: str) -> None:
    @ti.kernel
    def take(x: ti.types.ndarray(dtype=Particle, ndim=1)):
        x[0].mass = 1

    with pytest.raises(ti.TaichiRuntimeTypeError, match="needs dtype=Particle"):
        take(ti.ndarray(Basic, 2))
    with pytest.raises(ti.TaichiRuntimeTypeError, match="a member of one"):
        take(ti.ndarray(Nested, 2).s)


def test_types_that_look_alike_do_not_share_a_kernel(target: str) -> None:
    def shape(factor: int):
        @ti.dataclass
        class Shape:
            size: ti.i32

            @ti.func
            def area(self):
                return self.size * factor

        return Shape

    @ti.kernel
    def area(x: ti.types.ndarray()) -> ti.i32:
        return x[0].area()

    for factor in (1, 100):
        array = ti.ndarray(shape(factor), 1)
        array[0].size = 3
        assert area(array) == 3 * factor


def test_gradients_of_fields_of_structs(target: str) -> None:
    floats = ti.types.struct(x=ti.f32, v=vec3)
    field = floats.field(shape=3, needs_grad=True)
    field.grad[1].x = 5
    assert field.x.grad[1] == 5 and field.grad.x[1] == 5 and field[1].x == 0

    @ti.kernel
    def read() -> ti.f32:
        return field.grad[1].x + field.x.grad[1]

    assert read() == 10
    with pytest.raises(ti.TaichiRuntimeError, match="i32 is not supported"):
        Basic.field(shape=3, needs_grad=True)


def test_struct_field_of_a_dict_of_members(target: str) -> None:
    field = ti.Struct.field({"a": ti.i32, "b": vec3, "c": {"d": ti.f32}}, shape=3)

    @ti.kernel
    def fill():
        for i in field:
            field[i].b.z = i
            field[i].c.d = field[i].a + 0.5

    fill()
    assert field[2].to_dict() == {"a": 0, "b": [0, 0, 2], "c": {"d": 0.5}}
    assert field.keys == ["a", "b", "c"]


def test_layouts_give_the_same_results(target: str) -> None:
    for layout in (ti.Layout.AOS, ti.Layout.SOA):
        field = Basic.field(shape=3, layout=layout)

        @ti.kernel
        def fill():
            for i in field:
                field[i] = Basic(i, i, i)

        fill()
        assert field.v.to_numpy()[2].tolist() == [2, 2, 2]


def test_structs_with_members_called_as_methods(target: str) -> None:
    odd = ti.types.struct(shape=ti.i32, keys=ti.f32, fill=ti.i32)
    field = odd.field(shape=2)

    @ti.kernel
    def write():
        for i in field:
            field[i].shape = i + 1
            field[i].keys += 0.5
            field[i].fill = 3

    write()
    assert field[1].shape == 2 and field[1].keys == 0.5 and field[1].fill == 3
    assert field.get_member_field("shape").to_numpy().tolist() == [1, 2]
    assert field.shape == (2,)
