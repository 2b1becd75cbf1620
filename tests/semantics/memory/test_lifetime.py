"""`del` gives memory back at once: kernels keep no field alive, and none reads memory that was given back."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session.session import current


@pytest.fixture(autouse=True)
def without_garbage_collector():
    """What these tests free goes with its last reference, not with a collection some time later."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def in_use() -> int:
    """Return the bytes of all allocations, after the launches that may still use some."""
    ti.sync()
    return int(current().device.used_bytes)


def struct_type() -> Any:
    return ti.types.struct(mass=ti.f32, velocity=ti.types.vector(3, ti.f32))


MAKERS: dict[str, Callable[[], Any]] = {
    "field": lambda: ti.field(ti.f32, shape=100),
    "field with gradient": lambda: ti.field(ti.f32, shape=100, needs_grad=True),
    "field in another order": lambda: ti.field(ti.f32, shape=(3, 5), order="ji", offset=(-1, 2)),
    "vectors": lambda: ti.Vector.field(3, ti.f32, shape=7),
    "vectors whose components lie apart": lambda: ti.Vector.field(3, ti.f32, shape=7, layout=ti.Layout.SOA),
    "structs": lambda: struct_type().field(shape=7),
    "structs whose members lie apart": lambda: struct_type().field(shape=7, layout=ti.Layout.SOA),
    "ndarray": lambda: ti.ndarray(ti.f32, (4, 5)),
    "ndarray of structs": lambda: struct_type().ndarray(shape=7),
    "ndarray with gradient": lambda: ti.ndarray(ti.f32, 5, needs_grad=True),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_last_reference_gives_the_memory_back(target: str, kind: str) -> None:
    before = in_use()
    x = MAKERS[kind]()
    x.fill(1)
    assert in_use() > before
    del x
    assert in_use() == before


def test_idle_memory_is_back_without_any_further_call(target: str) -> None:
    device = current().device
    x = ti.field(ti.f32, shape=1 << 20)
    x.fill(1)
    ti.sync()
    before = device.used_bytes
    del x
    assert device.used_bytes <= before - (4 << 20)


def test_parts_and_views_keep_the_memory_they_show(target: str) -> None:
    before = in_use()
    whole = struct_type().field(shape=7)
    whole.fill(2)
    member, component = whole.velocity, whole.velocity.get_scalar_field(1)
    del whole
    assert component[3] == 2 and member[3][0] == 2
    del member
    assert component[6] == 2 and in_use() > before
    del component
    assert in_use() == before


def test_the_fields_of_a_tree_share_one_life(target: str) -> None:
    before = in_use()
    x, y = ti.field(ti.f32), ti.field(ti.i32)
    ti.root.dense(ti.i, 10).place(x, y)
    x[1], y[1] = 3, 4
    del x
    assert y[1] == 4
    del y
    assert in_use() == before


# --- kernels and what they captured


def test_a_template_argument_is_not_kept(target: str) -> None:
    @ti.kernel
    def increment(x: ti.template()):
        for i in x:
            x[i] += 1.0

    before = in_use()
    for _ in range(3):
        x = ti.field(ti.f32, shape=10)
        increment(x)
        assert x[9] == 1
        del x
    assert in_use() == before
    assert increment.instances() == []


def test_a_field_of_a_closure_is_freed_when_its_name_is_bound_anew(target: str) -> None:
    x = ti.field(ti.i32, shape=10)

    @ti.kernel
    def increment():
        for i in x:
            x[i] += 1

    increment()
    first = in_use()
    x = ti.field(ti.i32, shape=10)
    assert in_use() == first
    increment()
    increment()
    assert x[9] == 2


def test_a_global_that_is_bound_anew_while_the_old_field_lives_stays_what_it_was_when_compiled(target: str) -> None:
    old = x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def increment():
        x[0] += 1

    increment()
    x = ti.field(ti.i32, shape=4)
    increment()
    assert (old[0], x[0]) == (2, 0)  # as in Taichi: a kernel holds its globals as they were
    del old
    increment()
    assert x[0] == 1


def test_a_deleted_global_is_an_error_not_freed_memory(target: str, define_program: Callable[..., Any]) -> None:
    space = define_program("@ti.kernel\ndef increment():\n    x[0] += 1\n", x=ti.field(ti.i32, shape=4))
    space["increment"]()
    before = in_use()
    del space["x"]
    assert in_use() < before
    with pytest.raises(ti.TaichiNameError, match='Name "x" is not defined'):
        space["increment"]()


def test_a_global_of_another_type_is_compiled_anew(target: str, define_program: Callable[..., Any]) -> None:
    space = define_program("@ti.kernel\ndef fill():\n    for i in x: x[i] = 7\n", x=ti.field(ti.i32, shape=4))
    space["fill"]()
    assert space["x"][3] == 7
    space["x"] = ti.field(ti.f32, shape=(9,))
    space["fill"]()
    assert space["x"].to_numpy().tolist() == [7] * 9


def test_members_of_data_oriented_objects(target: str) -> None:
    @ti.data_oriented
    class Solver:
        def __init__(self, n: int) -> None:
            self.x = ti.field(ti.f32, shape=n)
            self.parts = [ti.field(ti.f32, shape=n) for _ in range(2)]

        @ti.kernel
        def step(self):
            for i in self.x:
                self.x[i] += 1.0
                self.parts[0][i] = 5.0

    before = in_use()
    solver = Solver(8)
    solver.step()
    solver.x = ti.field(ti.f32, shape=8)
    solver.step()
    assert solver.x[7] == 1
    del solver
    assert in_use() == before
    assert Solver.step.instances() == []
    other = Solver(3)
    other.step()
    assert other.x[2] == 1


def test_objects_at_one_address_one_after_the_other_are_told_apart(target: str) -> None:
    class Holder:
        def __init__(self, value: int) -> None:
            self.value = value

    x = ti.field(ti.i32, shape=1)

    @ti.kernel
    def show(holder: ti.template()):
        x[0] = holder.value

    for value in range(20):
        show(Holder(value))
        assert x[0] == value


def test_containers_are_told_apart_by_what_they_hold(target: str) -> None:
    x, y = ti.field(ti.i32, shape=2), ti.field(ti.i32, shape=2)

    @ti.kernel
    def write(fields: ti.template(), value: ti.i32):
        for f in ti.static(fields):
            f[0] += value

    both = [x]
    write(both, 1)
    both.append(y)
    write(both, 10)
    write((y,), 100)
    assert (x[0], y[0]) == (11, 110)
    del both, x
    before = in_use()
    del y
    assert in_use() < before


def test_gradients_expire_with_their_field(target: str) -> None:
    before = in_use()

    @ti.kernel
    def seed(x: ti.template()):
        for i in x:
            x.grad[i] = 2.0

    x = ti.field(ti.f32, shape=5, needs_grad=True)
    seed(x)
    assert x.grad[4] == 2
    del x
    assert in_use() == before


def test_parts_in_a_kernel_expire(target: str) -> None:
    before = in_use()

    @ti.kernel
    def scale(v: ti.template(), s: ti.template()):
        for i in v:
            v[i] *= 2.0
            s.velocity[i] += v[i]

    v, s = ti.Vector.field(3, ti.f32, shape=4, layout=ti.Layout.SOA), struct_type().field(shape=4, layout=ti.Layout.SOA)
    v.fill(1)
    scale(v, s)
    assert list(s[3].velocity) == [2, 2, 2]
    del v, s
    assert in_use() == before


def test_a_destroyed_tree_and_one_that_is_dropped(target: str) -> None:
    @ti.kernel
    def fill(x: ti.template(), value: ti.f32):
        for i in x:
            x[i] = value

    before = in_use()
    x, builder = ti.field(ti.f32), ti.FieldsBuilder()
    builder.dense(ti.i, 10).place(x)
    tree = builder.finalize()
    fill(x, 1.5)
    tree.destroy()
    assert in_use() == before
    with pytest.raises(RuntimeError, match="destroy"):
        fill(x, 2.0)
    y, builder = ti.field(ti.f32), ti.FieldsBuilder()
    builder.dense(ti.i, 10).place(y)
    tree = builder.finalize()
    fill(y, 2.5)
    assert y[9] == 2.5
    del y, builder, tree
    assert in_use() == before


def test_a_field_that_only_the_kernel_made_is_kept_by_it(target: str) -> None:
    made: list[Any] = []

    def counter() -> Any:
        field = ti.field(ti.i32, shape=1)
        made.append(weakref.ref(field))
        return field

    @ti.kernel
    def count() -> ti.i32:
        c = ti.static(counter())
        c[0] += 1
        return c[0]

    assert [count() for _ in range(3)] == [1, 2, 3]
    assert made[-1]() is not None


def test_a_kernel_that_is_dropped_frees_its_own_buffers(target: str) -> None:
    before = in_use()

    def run() -> float:
        x = ti.field(ti.f32, shape=1000)

        @ti.kernel
        def total() -> ti.f32:
            s = 0.0
            for i in x:
                s += x[i]
            return s

        return float(total())

    assert run() == 0
    gc.collect()  # a function that knows itself by a closure is a cycle
    assert in_use() == before


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_memory_freed_while_launches_are_under_way_stays_until_they_end(target: str) -> None:
    @ti.kernel
    def copy(a: ti.template(), b: ti.template()):
        for i in a:
            b[i] = a[i] + 1

    n = 1 << (9 if target == "python" else 14)
    results = [ti.field(ti.i32, shape=n) for _ in range(8)]
    for number, result in enumerate(results):
        source = ti.field(ti.i32, shape=n)
        source.fill(number)
        copy(source, result)
        del source
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result.to_numpy(), number + 1)


# --- one program for equal specialisations


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_fields_of_one_shape_share_one_program(target: str) -> None:
    @ti.kernel
    def increment(x: ti.template()):
        for i in x:
            x[i] += i

    programs = current().programs
    fields = [ti.field(ti.i32, shape=6) for _ in range(20)]
    for field in fields:
        increment(field)
    built = programs.built
    for field in fields:
        increment(field)
        np.testing.assert_array_equal(field.to_numpy(), 2 * np.arange(6))
    other = ti.field(ti.i32, shape=7)
    increment(other)
    if target != "python":
        assert (built, programs.built) == (1, 2)
    assert other[6] == 6 and fields[0][5] == 10


def test_what_differs_in_python_is_compiled_apart(target: str) -> None:
    x, y, z = (ti.field(ti.i32, shape=3) for _ in range(3))

    @ti.kernel
    def mark(a: ti.template(), b: ti.template()):
        for i in a:
            if ti.static(a is b):
                a[i] = 1
            elif ti.static(b is z):
                a[i] = 2
            else:
                a[i] = b[i] + 3

    mark(x, x)
    assert x[0] == 1
    mark(x, z)
    assert x[0] == 2
    y[0] = 4
    mark(x, y)
    assert x[0] == 7


def test_programs_are_not_kept_for_kernels_that_are_gone(target: str) -> None:
    def run(number: int) -> None:
        @ti.kernel
        def write(x: ti.template()):
            x[0] = ti.static(number)

        x = ti.field(ti.i32, shape=1)
        write(x)
        assert x[0] == number

    for number in range(40):
        run(number)
    gc.collect()
    assert len(current().programs) <= 33
