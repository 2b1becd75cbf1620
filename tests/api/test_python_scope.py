"""Functions, ranges, decorators and annotations in Python scope; expected values are measured on Taichi 1.7.4."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

sys.path.insert(0, str(Path(__file__).parents[1] / "data"))
from record_python_scope import evaluated  # noqa: E402

VALUES = [
    (lambda: ti.sin(0.5), 0.479425538604203),
    (lambda: ti.tanh(0.5), 0.46211715726000974),
    (lambda: ti.rsqrt(0.5), 1.414213562373095),
    (lambda: ti.floor(-2.5), -3.0),
    (lambda: ti.ceil(-2.5), -2.0),
    (lambda: ti.round(-2.5), -2.0),
    (lambda: ti.round(0.5), 0.0),
    (lambda: ti.abs(-2), 2),
    (lambda: ti.atan2(1.0, 2.0), 0.4636476090008061),
    (lambda: ti.pow(2, -1), 0.5),
    (lambda: ti.min(1, 2.5, 0), 0.0),
    (lambda: ti.max(3, 1, 2), 3),
    (lambda: ti.max(1), 1),
    (lambda: ti.raw_div(7, 2), 3),
    (lambda: ti.raw_div(-7, 2), -4),
    (lambda: ti.raw_div(7.0, 2), 3.5),
    (lambda: ti.raw_mod(-7, 2), -1),
    (lambda: ti.raw_mod(-7.5, 2), -1.5),
    (lambda: ti.select(1, 2, 3), 2),
    (lambda: ti.select(0, 2, 3.5), 3.5),
    (lambda: ti.cast(-1.7, ti.i32), -1),
    (lambda: ti.cast(300, ti.u8), 44),
    (lambda: ti.bit_cast(1.0, ti.i32), 1065353216),
    (lambda: ti.math.popcnt(7), 3),
    (lambda: ti.math.popcnt(-1), 32),
    (lambda: ti.math.clz(1), 31),
]


@pytest.mark.parametrize(("call", "expected"), VALUES)
def test_value_of_a_function(call, expected) -> None:
    assert call() == pytest.approx(expected, rel=1e-15)


def test_log_of_zero_and_root_of_a_negative_number() -> None:
    with np.errstate(all="ignore"):
        assert ti.log(0.0) == -math.inf
        assert math.isnan(ti.sqrt(-1.0))


def test_functions_work_by_elements() -> None:
    assert ti.max(ti.Vector([1, 2, 3]), ti.Vector([1.5, 2.5, -3.0])).to_list() == [1.5, 2.5, 3.0]
    assert ti.select(ti.Vector([1, 0]), ti.Vector([1, 2]), ti.Vector([3, 4])).to_list() == [1, 4]
    assert ti.abs(ti.Vector([1.5, -3.0])).to_list() == [1.5, 3.0]


@pytest.mark.parametrize("name", ["bit_shr", "zero", "one", "grouped", "static_print", "loop_config", "stop_grad"])
def test_kernel_only_functions_say_so(name: str) -> None:
    arguments = {"bit_shr": (8, 1), "loop_config": ()}.get(name, (3,))
    with pytest.raises(AssertionError, match=f"{name} cannot be called in Python-scope"):
        getattr(ti, name)(*arguments)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "min", "max", "and", "or", "xor"])
def test_atomics_refuse_values(name: str) -> None:
    with pytest.raises(ti.TaichiSyntaxError, match=f"non-writable target as the first operand of 'atomic_{name}'"):
        getattr(ti, f"atomic_{name}")(1, 2)


def test_min_without_arguments_fails() -> None:
    with pytest.raises(AssertionError):
        ti.min()


def test_static_is_the_value() -> None:
    assert ti.static(3) == 3
    assert ti.static(1, 2) == [1, 2]
    assert ti.static(range(3)) == range(3)


def test_static_assert_checks_at_once() -> None:
    ti.static_assert(True)
    with pytest.raises(AssertionError, match="reason"):
        ti.static_assert(False, "reason")


def test_ndrange_iterates_over_tuples() -> None:
    assert list(ti.ndrange(2, (1, 3))) == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert list(ti.ndrange(2)) == [(0,), (1,)]
    assert list(ti.ndrange()) == [()]
    assert list(ti.ndrange((5, 2))) == []


def test_ndrange_knows_its_bounds() -> None:
    found = ti.ndrange(3, (2, 5))
    assert found.bounds == [(0, 3), (2, 5)]
    assert found.dimensions == [3, 3]
    assert found.acc_dimensions == [9, 3]


@pytest.mark.parametrize(
    ("argument", "error", "text"),
    [
        (2.5, ti.TaichiTypeError, "should be an integer scalar or a tuple/list of"),
        ((1, 2, 3), ti.TaichiSyntaxError, "should be a scalar or a tuple/list like"),
    ],
)
def test_ndrange_refuses(argument, error, text) -> None:
    with pytest.raises(error, match=text):
        ti.ndrange(argument)


def test_func_cannot_be_called_from_python() -> None:
    @ti.func
    def inner(x):
        return x

    with pytest.raises(ti.TaichiSyntaxError, match="Taichi functions cannot be called from Python-scope"):
        inner(1)


def test_pyfunc_can_be_called_from_python() -> None:
    @ti.pyfunc
    def twice(x):
        return x * 2

    assert twice(2) == 4
    assert twice.__name__ == "twice"


def test_pyfunc_as_a_method_gets_its_object() -> None:
    class Holder:
        def __init__(self) -> None:
            self.factor = 3

        @ti.pyfunc
        def times(self, x):
            return x * self.factor

    assert Holder().times(2) == 6


@pytest.mark.parametrize("decorator", [ti.func, ti.pyfunc])
def test_decorators_refuse_what_is_no_function(decorator) -> None:
    with pytest.raises(TypeError, match="3 is not a callable object"):
        decorator(3)


def test_vector_type_makes_values() -> None:
    vec3 = ti.types.vector(3, float)
    assert vec3(1).to_list() == [1.0, 1.0, 1.0]
    assert vec3(1, [2, 3]).to_list() == [1.0, 2.0, 3.0]
    assert ti.math.vec3(ti.math.vec2(1, 2), 3).to_list() == [1.0, 2.0, 3.0]
    assert ti.types.vector(3, int)(1.5, 2, 3).to_list() == [1, 2, 3]
    assert ti.math.vec2(1, 2, 3).to_list() == [1.0, 2.0]
    assert vec3(0.1).to_numpy().dtype == np.float32


def test_matrix_type_makes_values() -> None:
    mat2 = ti.types.matrix(2, 2, float)
    expected = [[1.0, 2.0], [3.0, 4.0]]
    assert mat2(1, 2, 3, 4).to_list() == expected
    assert mat2([[1, 2], [3, 4]]).to_list() == expected
    assert mat2([1, 2], [3, 4]).to_list() == expected


def test_vector_type_refuses() -> None:
    with pytest.raises(IndexError):
        ti.math.vec3(1, 2)
    with pytest.raises(ti.TaichiSyntaxError, match="need to be created with an initial value"):
        ti.math.vec3()
    with pytest.raises(ValueError, match="Invalid data type 5"):
        ti.types.vector(3, 5)


def test_ndarray_annotation_forms() -> None:
    whole = ti.types.ndarray(dtype=ti.f32, ndim=2)
    assert whole == ti.types.NDArray[ti.f32, 2] == ti.types.ndarray(ti.f32, 2)
    assert ti.types.ndarray() == ti.types.ndarray
    assert ti.types.ndarray(ti.f32, element_shape=(3,)).element == ti.math.vec3.tensor
    assert ti.types.ndarray(boundary="clamp").boundary == "clamp"


@pytest.mark.parametrize(
    ("options", "text"),
    [({"boundary": "x"}, "Invalid boundary argument: x"), ({"field_dim": 2}, "already deprecated")],
)
def test_ndarray_annotation_refuses(options, text) -> None:
    with pytest.raises(ValueError, match=text):
        ti.types.ndarray(**options)


def test_questions_about_types() -> None:
    assert ti.types.is_integral(ti.i32) and not ti.types.is_integral(ti.f32)
    assert ti.types.is_real(ti.f32) and not ti.types.is_signed(ti.u8)
    with pytest.raises(TypeError):
        ti.types.is_integral(3)


def test_default_types_follow_the_session() -> None:
    ti.init(arch=ti.python, default_fp=ti.f64, default_ip=ti.i64, log_level=ti.ERROR)
    try:
        assert ti.math.vec3.dtype == ti.f64
        assert ti.math.ivec2.dtype == ti.i64
    finally:
        ti.reset()
    assert ti.math.vec3.dtype == ti.f32


def test_operations_give_what_taichi_gives() -> None:
    """Values and kinds of all operations that Taichi computes in Python scope; `record_python_scope.py` recorded them."""
    known = json.loads((Path(__file__).parents[1] / "data/python_scope.json").read_text())
    wrong = []
    with np.errstate(all="ignore"):
        for expression, expected in known.items():
            found = evaluated(expression, ti)
            if found is None or found[0] != expected[0] or not is_near(found[-1], expected[-1]):
                wrong.append((expression, found, expected))
    assert wrong == []


def is_near(found: str, expected: str) -> bool:
    """Return whether two texts of numbers, or lists of them, are equal but for roundings, and of equal types."""
    a, b = (eval(text, {"nan": math.nan, "inf": math.inf}) for text in (found, expected))
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(is_near, map(repr, a), map(repr, b)))
    if type(a) is not type(b) or not isinstance(a, int | float):
        return type(a) is type(b) and a == b
    return math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-12) or (a != a and b != b)
