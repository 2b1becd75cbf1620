"""Names are legal in every language, readable, and unique where they are seen."""

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.languages.common.naming import MAX_LENGTH, Names, bound_name, entry_stem, legal
from shadesmith.transpiler.backend.print.value_names import derived_name
from shadesmith.transpiler.ir.statements import Const, Operation
from shadesmith.transpiler.ir.types import f32, u1


@pytest.mark.parametrize(("name", "wanted"), [
    ("speed", "speed"), ("ray.origin", "ray_origin"), ("a__b", "a_b"), ("gl_x", "v_gl_x"), ("2nd", "v_2nd"), ("", "v"),
    ("__", "_"), ("é", "e"), ("θ", "theta"), ("Λ", "Lambda"), ("Δx", "Delta_x"), ("ж", "zhe"), ("x²", "x2"), ("字", "u5b57"),
])  # fmt: skip
def test_a_name_becomes_an_identifier(name: str, wanted: str) -> None:
    assert legal(name) == wanted


def test_a_long_name_is_cut() -> None:
    assert legal("x" * 100) == "x" * MAX_LENGTH
    assert legal("x" * (MAX_LENGTH - 1) + "_y") == "x" * (MAX_LENGTH - 1), "no underscore at the end"


def test_a_reserved_name_gets_an_underscore() -> None:
    names = Names(frozenset({"float", "int_"}))
    assert names.declare("float") == "float_" and names.declare("int_") == "int_1"


def test_a_name_that_is_taken_is_numbered() -> None:
    names = Names(frozenset())
    assert [names.declare(name) for name in ("x", "x", "x", "x_1")] == ["x", "x_1", "x_2", "x_1_1"]


def test_names_of_a_scope_are_free_behind_it() -> None:
    names = Names(frozenset())
    with names.scope():
        names.declare("x")
        assert not names.is_free("x")
    assert names.declare("x") == "x" and names.given == {"x"}


def test_names_made_of_a_name_must_be_free_too() -> None:
    names = Names(frozenset({"end_i"}))
    assert names.declare("i", lambda name: [bound_name("end", name)]) == "i_1"
    assert not names.is_free("end_i_1")


def test_derived_names_avoid_those_that_the_user_declares_later() -> None:
    names = Names(frozenset({"random"}))
    assert [names.derive("length_v", {"x_i"}) for _ in range(2)] == ["length_v", "length_v_1"]
    assert names.derive("x_i", {"x_i"}) == "x_i_1"
    assert names.derive("random", set()) == "random_1"
    assert names.declare("x_i") == "x_i"


def test_bounds_of_an_index_that_begins_with_an_underscore_have_no_double_one() -> None:
    assert bound_name("end", "i") == "end_i" and bound_name("end", "_i") == "end_v_i"


def test_a_kernel_called_task_is_renamed(sketch) -> None:
    kernel = sketch.kernel()
    kernel.name = "task"
    assert entry_stem(kernel) == "v_task"


def test_values_of_one_name_are_told_apart_by_what_they_are() -> None:
    """Further variables of a name by their type, random numbers by the component of the vector that they are in."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, whole = ti.Vector.field(3, ti.f32, 10), ti.field(ti.i32, 10)

    @ti.kernel
    def draw():
        for i in x:
            x[i] = ti.Vector([ti.random() * 0.5, 1.0 - ti.random(), ti.random()])
        for i in ti.static(range(2)):
            a = ti.cast(whole[i], ti.i64 if i else ti.i32)
            a += i
            whole[i] = ti.cast(a * a, ti.i32)

    for arch in (ti.cuda, ti.vulkan, ti.cpu):
        text = draw.source(arch=arch)
        assert all(f"float random_{letter} = " in text or f", random_{letter} = " in text for letter in "xyz")
        assert "int a = whole(0)" in text and " a_i64 = " in text


def test_only_indices_that_move_with_an_innermost_loop_have_64_bits() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, y = ti.field(ti.f32, 100), ti.field(ti.f32, 100)

    @ti.kernel
    def near(k: ti.i32):
        for i in range(1, 99):
            y[i] = x[i - 1] + x[k + 1]

    @ti.kernel
    def sums():
        for i in range(99):
            for j in range(99):
                y[i + 1] += x[j + 1]

    assert "x(i - 1ll)" in near.source(1, arch=ti.cpu) and "x(args.k + 1)" in near.source(1, arch=ti.cpu)
    assert "y(i + 1)" in sums.source(arch=ti.cpu) and "x(j + 1ll)" in sums.source(arch=ti.cpu)
    assert "ll" not in near.source(1, arch=ti.cuda).partition("#define x(i)")[2]


def test_an_end_that_is_read_is_named_after_its_loop_and_another_element_by_its_index() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    first, total = ti.field(ti.i32, 11), ti.field(ti.f32, 10)

    @ti.kernel
    def rows(x: ti.types.ndarray(ti.f32, 1)):
        for i in total:
            for k in range(first[i], first[i + 1]):
                total[i] += x[k]

    @ti.kernel
    def steps(x: ti.types.ndarray(ti.f32, 1)):
        for i in total:
            x[i + 1], x[i - 2] = x[i - 2], x[i + 1]

    given = np.zeros(20, np.float32)
    for arch in (ti.cuda, ti.vulkan, ti.cpu):
        text = rows.source(given, arch=arch)
        assert "int end_k = first(i + 1);" in text and " < end_k" in text and "first_i" not in text
        text = steps.source(given, arch=arch)
        assert "float x_i_plus_1 = x(i + 1" in text and " = x_i_plus_1;" in text


def test_a_comparison_is_named_after_the_side_that_has_a_name() -> None:
    limit, total = (Operation("neg", [Const(1.0, type=f32)], type=f32) for _ in range(2))
    limit.hint = "limit"
    assert derived_name(Operation("lt", [total, limit], type=u1)) == "limit_is_greater"
    assert derived_name(Operation("lt", [limit, total], type=u1)) == "limit_is_less"


def test_a_difference_has_a_name_where_its_square_is_taken() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)

    @ti.kernel
    def distances(x: ti.types.ndarray(ti.math.vec3, 1), d: ti.types.ndarray(ti.f32, 1), center: ti.math.vec3):
        for i in x:
            d[i] = (x[i] - center).dot(x[i] - center)

    text = distances.source(ti.Vector.ndarray(3, ti.f32, 4), ti.ndarray(ti.f32, 4), ti.math.vec3(1.0), arch=ti.cuda)
    assert "dot(x_minus_center, x_minus_center)" in text
