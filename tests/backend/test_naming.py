"""Names are legal in every language, readable, and unique where they are seen."""

import pytest

from shadesmith.transpiler.backend.languages.common.naming import MAX_LENGTH, Names, bound_name, entry_stem, legal


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
