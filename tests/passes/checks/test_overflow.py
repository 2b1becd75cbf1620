"""Under `check_overflow` an assertion stands before each operation whose result may not fit."""

import pytest

from shadesmith.transpiler.ir.statements import Assert, AtomicOp, Cast
from shadesmith.transpiler.ir.types import f32, i8, i16, i32, i64
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.checks.overflow import overflow


@pytest.fixture
def trapped(sketch):
    sketch.set_options(check_overflow=True)
    return sketch


def messages(sketch):
    sketch.text = sketch.apply(overflow, stage=Stage.FRONTEND)
    return [s.message.split(":")[0] for s in sketch.result.body if isinstance(s, Assert)]


@pytest.mark.parametrize(("op", "what"), [
    ("add", "Addition"), ("sub", "Subtraction"), ("mul", "Multiplication"), ("pow", "Power"), ("shl", "Shift left"),
])  # fmt: skip
def test_an_operation_is_tested_before_it_is_computed(trapped, op, what):
    trapped.op(op, trapped.arg("n"), trapped.arg("n"))
    assert messages(trapped) == [f"{what} overflow detected"]
    assert trapped.text.index(f"{op}_overflows") < trapped.text.index("assert") < trapped.text.index(f" {op} ")


def test_without_the_option_nothing_changes(sketch):
    sketch.op("add", sketch.arg("n"), sketch.arg("n"))
    assert not overflow(sketch.kernel(), sketch.context)


def test_floats_and_operations_that_always_fit_are_left_alone(trapped):
    trapped.op("add", trapped.arg("w"), trapped.arg("w"))
    trapped.op("min", trapped.arg("n"), trapped.arg("n"))
    assert messages(trapped) == []


def test_a_division_is_tested_for_zero_and_for_the_lowest_number(trapped):
    trapped.op("floordiv", trapped.arg("n"), trapped.arg("n"))
    assert messages(trapped) == ["Division by zero", "Division overflow detected"]


def test_a_remainder_has_no_overflow(trapped):
    trapped.op("mod", trapped.arg("n"), trapped.arg("n"))
    assert messages(trapped) == ["Division by zero"]


@pytest.mark.parametrize(("op", "what"), [("neg", "Negation"), ("abs", "Absolute value")])
def test_the_lowest_number_has_no_opposite(trapped, op, what):
    trapped.op(op, trapped.arg("n"))
    assert messages(trapped) == [f"{what} overflow detected"]


def test_an_atomic_is_tested_by_its_old_value(trapped):
    array = trapped.b
    array.element = i32
    trapped.add(AtomicOp("add", trapped.ptr(array, 0), trapped.arg("n"), type=i32))
    assert messages(trapped) == ["Addition overflow detected"]
    assert trapped.text.index("atomic add") < trapped.text.index("add_overflows")


@pytest.mark.parametrize(("wide", "narrow", "is_implicit", "found"), [
    (i32, i16, True, ["Assignment overflow detected"]), (i32, i16, False, []), (i32, i64, True, []),
    (f32, i8, False, ["Cast overflow detected"]),
])  # fmt: skip
def test_casts_that_may_lose_are_tested_where_nobody_asked_to_wrap(trapped, wide, narrow, is_implicit, found):
    trapped.add(Cast(trapped.arg("w" if wide == f32 else "n"), is_implicit=is_implicit, type=narrow))
    assert messages(trapped) == found


def test_each_element_of_a_vector_counts(trapped):
    vector = trapped.tensor([trapped.arg("n")] * 2, (2,), i32)
    trapped.op("add", vector, vector)
    assert messages(trapped) == ["Addition overflow detected"]
    assert trapped.text.count("add_overflows $") == 2 and "logical_and" in trapped.text
