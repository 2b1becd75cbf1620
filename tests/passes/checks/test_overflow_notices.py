"""Under `debug` a notice stands before each operation whose result may not fit; nothing ends there."""

import pytest

from shadesmith.transpiler.ir.statements import AtomicOp, Notice
from shadesmith.transpiler.ir.types import i16, i32
from shadesmith.transpiler.passes import Stage
from shadesmith.transpiler.passes.checks.overflow_notices import overflow_notices


@pytest.fixture
def noted(sketch):
    sketch.set_options(debug=True)
    return sketch


def messages(sketch):
    sketch.text = sketch.apply(overflow_notices, stage=Stage.FRONTEND)
    return [s.message for s in sketch.result.body if isinstance(s, Notice)]


@pytest.mark.parametrize(("op", "what"), [
    ("add", "Addition"), ("sub", "Subtraction"), ("mul", "Multiplication"), ("shl", "Shift left"),
])  # fmt: skip
def test_an_operation_is_tested_before_it_is_computed(noted, op, what):
    noted.op(op, noted.arg("n"), noted.arg("n"))
    assert messages(noted) == [f"{what} overflow detected"]
    assert noted.text.index(f"{op}_overflows") < noted.text.index("notice if") < noted.text.index(f" {op} ")


def test_other_operations_and_floats_are_left_alone(noted):
    noted.op("neg", noted.arg("n"))
    noted.op("floordiv", noted.arg("n"), noted.arg("n"))
    noted.op("add", noted.arg("w"), noted.arg("w"))
    assert messages(noted) == []


def test_an_atomic_of_memory_is_left_alone_and_one_of_a_variable_is_not(noted):
    array = noted.b
    array.element = i32
    noted.add(AtomicOp("add", noted.ptr(array, 0), noted.arg("n"), type=i32))
    assert messages(noted) == []


def test_a_shift_of_a_narrow_number_is_computed_in_32_bits(noted):
    narrow = noted.cast(noted.arg("n"), i16)
    noted.op("shl", narrow, narrow)
    assert messages(noted) == ["Shift left overflow detected"] and "i32" in noted.text


@pytest.mark.parametrize("options", [{}, {"debug": True, "check_overflow": True}])
def test_without_debug_and_where_overflow_stops_nothing_changes(sketch, options):
    sketch.set_options(**options)
    sketch.op("add", sketch.arg("n"), sketch.arg("n"))
    assert not overflow_notices(sketch.kernel(), sketch.context)
