"""Arguments that do not fit: errors at the call name the parameter, what it takes and a remedy; there is no caret."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

PACKAGE = str(Path(ti.__file__).resolve().parent)
F32 = np.float32


@ti.kernel
def scalars(first: ti.i32, second: ti.f32):
    pass


@ti.kernel
def vector(v: ti.math.vec3):
    pass


@ti.kernel
def first_of(v: ti.math.ivec2) -> ti.i32:
    return v[0]


@ti.kernel
def total(v: ti.math.ivec2) -> ti.i32:
    return v.sum()


@ti.kernel
def integers(v: ti.math.ivec2, s: ti.types.struct(a=ti.i32, b=ti.math.ivec2)) -> ti.i32:
    return v.sum() + s.a + s.b.sum()


@ti.kernel
def array(grid: ti.types.ndarray(dtype=ti.f32, ndim=2)):
    for I in ti.grouped(grid):
        grid[I] = 1.0


@ti.kernel
def reads(grid: ti.types.ndarray(dtype=ti.f32, ndim=2)) -> ti.f32:
    return grid[0, 0]


@ti.func
def inlined(x):
    return x


class Undecorated:
    @ti.kernel
    def method(self):
        pass


def read_only() -> Any:
    x = np.zeros((2, 2), F32)
    x.flags.writeable = False
    return x


SYNTAX, MISFIT = ti.TaichiSyntaxError, ti.TaichiRuntimeTypeError
CASES: list[tuple[str, type[Exception], str, Callable[[], Any]]] = [
    ("too_few", SYNTAX, "Missing argument `second`", lambda: scalars(1)),
    ("too_many", SYNTAX, "takes 2, found 3", lambda: scalars(1, 2, 3)),
    ("float_in_list", MISFIT, "`v` of kernel `integers`", lambda: integers([1, 0.5], {"a": 1, "b": [1, 2]})),
    (
        "vector_of_floats",
        MISFIT,
        "`v` of kernel `integers`",
        lambda: integers(ti.Vector([1.0, 2.0]), {"a": 1, "b": [1, 2]}),
    ),
    ("array_of_floats", MISFIT, "`v` of kernel `integers`", lambda: integers(np.zeros(2), {"a": 1, "b": [1, 2]})),
    ("float_in_struct", MISFIT, "`s` of kernel `integers`", lambda: integers([1, 2], {"a": 1, "b": [1, 0.5]})),
    ("unknown_keyword", SYNTAX, "Unexpected argument `third`", lambda: scalars(1, third=2)),
    ("given_twice", SYNTAX, "Multiple values for argument `first`", lambda: scalars(1, first=2)),
    ("text_for_integer", MISFIT, "`first`", lambda: scalars("a", 1.0)),
    ("none_for_integer", MISFIT, "`first`", lambda: scalars(None, 1.0)),
    ("float_for_integer", MISFIT, "`first`", lambda: scalars(1.5, 1.0)),
    ("array_for_integer", MISFIT, "`first`", lambda: scalars(np.zeros(3), 1.0)),
    ("text_for_float", MISFIT, "`second`", lambda: scalars(1, "b")),
    ("short_vector", MISFIT, "`v`", lambda: vector(ti.Vector([1.0, 2.0]))),
    ("long_vector", MISFIT, "`v`", lambda: total([1, 2, 3])),
    ("float_nobody_reads", MISFIT, "`v`", lambda: first_of([1, 0.5])),
    ("long_vector_read_in_part", MISFIT, "`v`", lambda: first_of([1, 2, 3])),
    ("scalar_for_vector", MISFIT, "`v`", lambda: vector(1.0)),
    ("text_for_vector", MISFIT, "`v`", lambda: vector("abc")),
    ("list_for_array", MISFIT, "`grid`", lambda: array([1, 2])),
    ("scalar_for_array", MISFIT, "`grid`", lambda: array(3.0)),
    ("field_for_array", MISFIT, "`grid`", lambda: array(ti.field(ti.f32, (2, 2)))),
    ("dtype", MISFIT, "needs dtype=f32, found dtype=f64", lambda: array(np.zeros((2, 2)))),
    ("dtype_of_ndarray", MISFIT, "needs dtype=f32, found dtype=i32", lambda: array(ti.ndarray(ti.i32, (2, 2)))),
    ("vectors_for_scalars", MISFIT, "needs dtype=f32", lambda: array(ti.Vector.ndarray(3, ti.f32, (2, 2)))),
    ("ndim", MISFIT, "needs ndim=2, found ndim=1", lambda: array(np.zeros(2, F32))),
    ("big_endian", MISFIT, "other order", lambda: array(np.zeros((2, 2), ">f4"))),
    ("objects", MISFIT, "dtype object", lambda: array(np.zeros((2, 2), object))),
    ("complex_numbers", MISFIT, "dtype complex128", lambda: array(np.zeros((2, 2), complex))),
    ("read_only_written", MISFIT, "read-only", lambda: array(read_only())),
    ("function_in_python", SYNTAX, "Python-scope", lambda: inlined(1)),
    ("no_data_oriented", SYNTAX, "data_oriented", lambda: Undecorated().method()),
    ("kernel_of_class", SYNTAX, "decorates functions", lambda: ti.kernel(Undecorated)),
    ("unknown_arch", ti.TaichiRuntimeError, "no target", lambda: scalars.source(1, 1.0, arch=ti.metal)),
]


@pytest.mark.parametrize(("error", "message", "call"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
@pytest.mark.parametrize("is_warm", [False, True], ids=["first_call", "later_call"])
def test_argument_error(error: type[Exception], message: str, call: Callable[[], Any], is_warm: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    if is_warm:
        scalars(1, 2.0)
        total([1, 2])
        first_of([1, 2])
        vector(ti.Vector([1.0, 2.0, 3.0]))
        array(np.zeros((2, 2), F32))
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    assert "^" not in str(caught.value) and "Hint:" in str(caught.value)
    files = [str(Path(frame.filename).resolve()) for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not [file for file in files if file.startswith(PACKAGE) and "/tests/" not in file]


def test_read_only_array_is_taken_where_it_is_only_read() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert reads(read_only()) == 0.0


def test_kernel_before_init() -> None:
    ti.reset()
    with pytest.raises(ti.TaichiRuntimeError, match=r"ti.init\(\)"):
        scalars(1, 2.0)


def test_numbers_out_of_range_are_fitted(target: str) -> None:
    """As in Taichi: integers are taken modulo 2^bits, here with a warning, and floats that are too large are infinite."""

    @ti.kernel
    def keep(
        a: ti.types.vector(2, ti.f32),
        b: ti.math.ivec2,
        h: ti.f16,
        i: ti.i32,
        s: ti.types.struct(k=ti.u8, v=ti.math.vec2),
        out: ti.types.ndarray(dtype=ti.f64, ndim=1),
    ):
        out[0] = a[0] + a[1]
        out[1] = b[0]
        out[2] = b[1]
        out[3] = h
        out[4] = i
        out[5] = s.k
        out[6] = s.v[1]

    out = np.zeros(7)
    with pytest.warns(ti.ShadesmithWarning) as found:
        keep([1e300, 1], [2**31, -7], -1e6, 2**32 + 5, {"k": 300, "v": [0, -1e39]}, out)
    assert out.tolist() == [np.inf, -(2**31), -7, -np.inf, 5, 44, -np.inf]
    texts = [str(warning.message) for warning in found]
    assert any("argument 1 (`b`): 2147483648 does not fit i32 and wraps to -2147483648" in text for text in texts)
    assert any("argument 4 (`s`): 300 does not fit u8 and wraps to 44" in text for text in texts)
    keep([1.5, 1], [3, -7], 0.5, 5, {"k": 30, "v": [0, 2]}, out)
    assert out.tolist() == [2.5, 3, -7, 0.5, 5, 30, 2]


MISUSES: list[tuple[str, type[Exception], str, Callable[[], Any]]] = [
    ("other_shape", ValueError, "pass an array of shape (4,)", lambda: ti.field(ti.f32, 4).from_numpy(np.zeros(5))),
    ("transposed", ValueError, "Hint: pass `x.T`", lambda: ti.ndarray(ti.f32, (4, 2)).from_numpy(np.zeros((2, 4)))),
    ("shape", ValueError, "`x.reshape(4, 2)`", lambda: ti.ndarray(ti.f32, (4, 2)).from_numpy(np.zeros(8))),
    ("list", TypeError, "numpy.array", lambda: ti.field(ti.f32, 4).from_numpy([1, 2, 3, 4])),
    ("float_in_integers", TypeError, "int(1.5)", lambda: ti.field(ti.i32, 4).__setitem__(0, 1.5)),
    ("text_in_integers", TypeError, "str was given", lambda: ti.field(ti.i32, 4).__setitem__(0, "1")),
    ("text_for_all", TypeError, "str was given", lambda: ti.ndarray(ti.i32, 4).fill("1")),
    ("not_placed", ti.TaichiRuntimeError, "is not placed", lambda: ti.field(ti.f32).__setitem__(0, 1.5)),
    ("number_type", ValueError, "Hint: write `ti.f32`", lambda: ti.field("f32", 4)),
    ("member", ti.TaichiSyntaxError, "no member `b`; it has a", lambda: ti.types.struct(a=ti.i32)(b=2)),
    ("copy", TypeError, "non-field", lambda: ti.field(ti.i32, 4).copy_from(ti.ndarray(ti.i32, 4))),
]


@pytest.mark.parametrize(("error", "message", "call"), [c[1:] for c in MISUSES], ids=[c[0] for c in MISUSES])
def test_misuse_of_an_array(error: type[Exception], message: str, call: Callable[[], Any]) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.raises(error) as caught:
        call()
    assert message in str(caught.value)
    files = [str(Path(frame.filename).resolve()) for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert not [file for file in files if file.startswith(PACKAGE) and "/tests/" not in file]


@pytest.mark.parametrize("n", [2.5, 2.0, "2", None, ti.f32])
def test_size_that_is_no_integer(n: Any) -> None:
    """Such a type was accepted, and the field of it failed in the allocation, with an error of ctypes."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    makers = [
        ti.types.vector,
        ti.Vector.field,
        lambda n, t: ti.Matrix.field(2, n, t, 3),
        lambda n, t: ti.Vector.ndarray(n, t, 3),
    ]
    for make in makers:
        with pytest.raises(TypeError, match="size of a vector or matrix is an integer"):
            make(n, ti.f32)
    with pytest.raises(ValueError, match="not negative, found -1"):
        ti.Vector.field(-1, ti.f32)


def test_argument_that_nobody_reads_is_checked(target: str) -> None:
    """C, GLSL and CUDA C drop such a parameter, so nothing packed it: `scalars("a", None)` was accepted there."""
    for first, second in (("a", 1), (1.5, 1), (None, 1), ([1], 1), (1, "b")):
        with pytest.raises(MISFIT, match="of kernel `scalars`"):
            scalars(first, second)
    for v in ([1, 0.5], [1, 2, 3], [1], 3):
        with pytest.raises(MISFIT, match="`v` of kernel `first_of`"):
            first_of(v)
    with pytest.raises(MISFIT, match="`v` of kernel `total`"):
        total([1, 2, 3])
    scalars(1, 2)
    scalars(np.int64(1), np.float32(2))
    assert (first_of([4, 5]), first_of(np.array([6, 7])), total(ti.Vector([1, 2]))) == (4, 6, 3)


@ti.kernel
def of_vectors(v: ti.types.ndarray(ti.math.vec3, 1), m: ti.types.ndarray(ti.math.mat2, 1)):
    for i in v:
        v[i] = ti.math.vec3(1.0)
        m[i] = ti.math.mat2(1.0)


@pytest.mark.parametrize("shapes", [((4, 2), (4, 2, 2)), ((4, 3), (4, 2, 1)), ((4, 3), (4, 4)), ((12,), (4, 2, 2))])
def test_elements_are_checked_in_later_calls_too(shapes: tuple[tuple[int, ...], ...]) -> None:
    ti.init(arch=ti.cpu)
    of_vectors(np.zeros((4, 3), F32), np.zeros((4, 2, 2), F32))
    with pytest.raises(ti.TaichiRuntimeTypeError, match=r"needs elements|needs ndim"):
        of_vectors(*(np.zeros(shape, F32) for shape in shapes))
