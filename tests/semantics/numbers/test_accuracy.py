"""`fast_math=False`: every mathematical function within 4 ulp of the true value on a grid of 4,000, on every target.

The functions, the grid and what an error is stand in `benchmarks/accuracy.py`, which also makes the table in
docs/numerics.md. A grid is computed once a process: a kernel for each number of arguments and type.
"""

from __future__ import annotations

from functools import cache

import accuracy
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions
from shadesmith.transpiler.backend.languages.common.helpers import called, chunks_of, order
from shadesmith.transpiler.backend.languages.glsl import tables as tables_glsl
from shadesmith.transpiler.backend.languages.glsl.language import GLSL

LIMIT = 4.0
OURS = frozenset({*"sin cos tan tanh asinh acosh atanh exp log sqrt rsqrt".split(), "**", "/"})
"""Functions that templates/glsl/lib computes: within 2 ulp; in f64 also asin, acos and atan2."""

ANGLES = frozenset({"asin", "acos", "atan2"})
ROWS = {row.name: row for row in accuracy.ROWS}

needs_long_double = pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="true values need 80-bit numbers")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", [name for name in metafunc.config.getoption("--targets").split(",") if name])


def start(device: str, dtype: str) -> None:
    kind = getattr(ti, dtype)
    ti.init(arch=getattr(ti, device), default_fp=kind, fast_math=False, enable_fallback=False, log_level=ti.ERROR)


@cache
def results(device: str, dtype: str, arity: int) -> dict[str, np.ndarray]:
    start(device, dtype)
    found = accuracy.evaluate(tuple(row for row in accuracy.ROWS if row.arity == arity), dtype)
    ti.reset()
    return found


def limit(device: str, dtype: str, name: str) -> float:
    ours = OURS | ANGLES if dtype == "f64" else OURS
    return 2.0 if device == "vulkan" and name in ours else LIMIT


@cache
def flushes(device: str, dtype: str) -> bool:
    """Tell whether plain arithmetic takes subnormal numbers as 0, which only a device that cannot keep them may."""
    start(device, dtype)
    found, offered = accuracy.flushes_subnormals(dtype), sessions.CURRENT.device.capabilities.float_controls
    ti.reset()
    assert not found or (device == "vulkan" and f"DenormPreserve {dtype[1:]}" not in offered)
    return found


@needs_long_double
@pytest.mark.parametrize("dtype", accuracy.TYPES)
@pytest.mark.parametrize("name", ROWS)
def test_no_error_is_above_the_limit(device: str, dtype: str, name: str) -> None:
    row = ROWS[name]
    arguments, true = accuracy.true_values(row, dtype)
    found = results(device, dtype, row.arity)[name]
    errors = accuracy.ulp_errors(found, true, row.any_zero)
    if errors.max() > LIMIT and flushes(device, dtype):
        errors = accuracy.errors_where_flushed(row, dtype, found)
    worst = int(errors.argmax())
    assert len(errors) == accuracy.COUNT
    assert errors[worst] <= limit(device, dtype, name), (
        f"{errors[worst]:.3g} ulp: {name} of {[float(x[worst]) for x in arguments]} is {found[worst]}, "
        f"not {true[worst]}; {(errors > LIMIT).sum()} values are above {LIMIT} ulp"
    )


@needs_long_double
@pytest.mark.all_targets
def test_the_double_nearest_to_a_multiple_of_half_pi(device: str) -> None:
    start(device, "f64")
    x = np.array([accuracy.NEAREST_TO_HALF_PI["f64"]])
    out = np.zeros(2)

    @ti.kernel
    def run(x: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in x:
            out[0] = ti.cos(x[i])
            out[1] = ti.tan(x[i])

    run(x, out)
    ti.reset()
    true = np.concatenate([np.cos(x.astype(np.longdouble)), np.tan(x.astype(np.longdouble))])
    # glibc 2.36 loses three bits there, which NumPy uses as well.
    assert accuracy.ulp_errors(out, true).max() <= (16 if device in ("cpu", "python") else 2)


@pytest.mark.parametrize("dtype", accuracy.TYPES)
def test_products_are_rounded_before_they_are_added(device: str, dtype: str) -> None:
    """A fused multiply-add would give the rounding error of the product, not 0."""
    start(device, dtype)
    x = np.random.default_rng(5).uniform(1, 2, 64).astype(accuracy.TYPES[dtype])
    square, out = x * x, np.ones_like(x)

    @ti.kernel
    def run(x: ti.types.ndarray(), square: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(x.shape[0]):
            difference = x[i] * x[i] - square[i]
            out[i] = difference

    run(x, square, out)
    ti.reset()
    assert not out.any()


@pytest.mark.parametrize("dtype", accuracy.TYPES)
def test_vectors_are_computed_as_scalars(device: str, dtype: str) -> None:
    start(device, dtype)
    scalar, kind = getattr(ti, dtype), accuracy.TYPES[dtype]
    vec3 = ti.types.vector(3, scalar)
    values = np.array([[0.5, -2.25, 1e5], [3.0, 7.0, 1e-3]], kind)
    vectors, scalars = np.zeros((8, 3), kind), np.zeros((8, 3), kind)

    @ti.kernel
    def run(x: ti.types.ndarray(), vectors: ti.types.ndarray(), scalars: ti.types.ndarray()):
        for i in range(1):
            a, b = vec3(x[0, 0], x[0, 1], x[0, 2]), vec3(x[1, 0], x[1, 1], x[1, 2])
            quotient = a / b
            quotient /= b.y
            found = [ti.sin(a), ti.exp(b), a / b, a / 3.0, a % b, ti.sqrt(b), quotient, ti.pow(b, 2.5)]
            for k in ti.static(range(3)):
                for n in ti.static(range(8)):
                    vectors[n, k] = found[n][k]
                x_k, y_k = x[0, k], x[1, k]
                scalars[0, k], scalars[1, k] = ti.sin(x_k), ti.exp(y_k)
                scalars[2, k], scalars[3, k] = x_k / y_k, x_k / 3.0
                scalars[4, k], scalars[5, k] = x_k % y_k, ti.sqrt(y_k)
                scalars[6, k], scalars[7, k] = x_k / y_k / x[1, 1], ti.pow(y_k, 2.5)

    run(values, vectors, scalars)
    ti.reset()
    assert np.array_equal(vectors, scalars)
    assert np.array_equal(vectors[2], values[0] / values[1])


def test_halves_are_computed_as_floats(device: str) -> None:
    start(device, "f32")
    values = np.array([0.1, 0.5, -1.5, 3.0, 100.0, 6e-5, 6e4, -0.0], np.float16)
    out = np.zeros((4, 8), np.float16)

    @ti.kernel
    def run(x: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(8):
            out[0, i] = ti.sin(x[i])
            out[1, i] = x[i] / x[3]
            out[2, i] = x[4] ** (x[i] / x[6])
            out[3, i] = ti.tanh(x[i])

    run(values, out)
    ti.reset()
    x = values.astype(np.float64)
    exponent = (values / values[6]).astype(np.float64)
    for found, true in zip(out, [np.sin(x), x / 3, 100.0**exponent, np.tanh(x)], strict=True):
        assert accuracy.ulp_errors(found, true.astype(np.longdouble)).max() <= 1


@pytest.mark.parametrize(
    "source, result", [("f64", "f32"), ("f32", "f64"), ("i32", "f32"), ("i64", "f64"), ("i64", "f32")]
)
def test_casts_to_floats_round_to_nearest(device: str, source: str, result: str) -> None:
    start(device, "f32")
    old, new = getattr(ti, source), getattr(ti, result)
    if old.is_float:
        values = accuracy.unary_arguments(source)
    else:
        bits = 8 * old.numpy.itemsize
        random = np.random.default_rng(6)
        values = random.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), accuracy.COUNT) >> random.integers(
            0, bits, accuracy.COUNT
        )
        values = values.astype(old.numpy)
    out = np.zeros(accuracy.COUNT, new.numpy)

    @ti.kernel
    def run(x: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(x.shape[0]):
            out[i] = ti.cast(x[i], new)

    run(values, out)
    ti.reset()
    true = values
    if old.is_float and flushes(device, source):
        true = accuracy.flusher(source)(values)
    with np.errstate(over="ignore"):
        true = true.astype(new.numpy)
    if flushes(device, result):
        flushed = accuracy.flusher(result)(true)
        true = np.where(out == flushed, flushed, true)
    assert np.array_equal(out, true, equal_nan=True)


@pytest.mark.parametrize("kind", ["i32", "u32", "i64", "u64"])
def test_bits_are_counted(device: str, kind: str) -> None:
    start(device, "f32")
    scalar = getattr(ti, kind)
    bits = scalar.bits
    random = np.random.default_rng(7)
    values = random.integers(0, 2**63, accuracy.COUNT, np.uint64) >> random.integers(0, 63, accuracy.COUNT).astype(
        np.uint64
    )
    values = np.concatenate([values[:-2], np.array([0, 2**64 - 1], np.uint64)]).astype(scalar.numpy)
    out = np.zeros((2, accuracy.COUNT), np.int32)

    @ti.kernel
    def run(x: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(x.shape[0]):
            out[0, i] = ti.math.popcnt(x[i])
            out[1, i] = ti.math.clz(x[i])

    run(values, out)
    ti.reset()
    plain = [int(value) % 2**bits for value in values]
    assert out[0].tolist() == [value.bit_count() for value in plain]
    assert out[1].tolist() == [bits - value.bit_length() for value in plain]


def test_no_function_has_a_loop() -> None:
    """lavapipe ends all loops of an invocation after 65,535 iterations in total: a loop in sin would end a loop around it."""
    operations = [*tables_glsl.COARSE["f32"].values(), *tables_glsl.COARSE["f64"].values()]
    names = [name for operation in operations for name in called(GLSL, operation.template)]
    names += [name for name, (_, file) in chunks_of("glsl", "glsl").items() if file in tables_glsl.MATH_FILES]
    helpers = order(GLSL, [name for name in names if not name.startswith("fmod")])
    assert {"times_two_over_pi", "div_f32", "log_in_two_parts", "tanh_f64"} <= {helper.name for helper in helpers}
    assert not [helper.name for helper in helpers if helper.identifiers & {"for", "while", "do"}]


def test_an_error_is_the_distance_in_spacings() -> None:
    true = np.array([1.0, 1.5, 2.0**-149, 3.5e38, np.inf, np.nan, 0.0, 0.0, 2.0], np.longdouble)
    found = np.array([1 + 2**-23, 1.5, 2.0**-148, 3.4028235e38, 3.4028235e38, np.nan, -0.0, 0.0, np.nan], np.float32)
    errors = accuracy.ulp_errors(found, true)
    assert errors.tolist() == [1, 0, 1, 1, np.inf, 0, np.inf, 0, np.inf]
