"""What the mathematical functions are measured by: arguments, true values, errors in units in the last place (ulp).

4,000 arguments a function: zeros, infinities, NaN, subnormal numbers, the neighbours of every value where functions
have an extremum, overflow or vanish, multiples of pi/2 up to the largest number, and numbers of all sizes. True values
are NumPy's in the 80-bit long double of x86, which has 11 bits more than f64. The error of a result is its distance
from the true value in the spacing of the type's numbers at that value, below the normal numbers in the spacing of
subnormal ones. Infinity counts as the power of two behind the largest number, so that the largest number is one ulp
from it; where a function is infinite (log(0)) or not a number, nothing else is right. A zero has the sign of the true
value, or of a true value that is too small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

import shadesmith as ti
from shadesmith.transpiler.ir.ops import MATH_H, OPS

COUNT = 4_000
TYPES: dict[str, type[np.floating[Any]]] = {"f32": np.float32, "f64": np.float64}
NEAREST_TO_HALF_PI = {"f32": 16367173 * 2.0**72, "f64": 6381956970095103 * 2.0**797}
"""The numbers that come nearest to a multiple of pi/2 (Muller, "Elementary Functions", 2016, section 11.3). The second
is no argument of the grid, since glibc 2.36 itself is 8 ulp off there: its reduction loses three bits."""

Array = np.ndarray[Any, Any]
Flush = Callable[[Array], Array]


@dataclass(frozen=True, slots=True)
class Row:
    """One function. kernel: what runs on the device. reference: the same on long doubles.

    stepwise: the function is a formula that rounds each step (`x % y` is `x - y * floor(x / y)`); the reference then
    computes in the type itself. any_zero: it chooses one of its operands, and of 0.0 and -0.0 either.
    flushed: the reference for a device whose plain arithmetic and comparisons take subnormal f32 numbers as 0, after
    what takes them as 0. Where there is none, such a device has to keep them in f32; our functions of f64 do not.
    """

    name: str
    arity: int
    kernel: Callable[..., Any]
    reference: Callable[..., Any]
    stepwise: bool = False
    any_zero: bool = False
    flushed: Callable[..., Any] | None = None


# --- functions --------------------------------------------------------------------------------------------------------


@ti.func
def mantissa(x):
    m, _ = ti.frexp(x)
    return m


@ti.func
def smoothstep(x):
    return ti.math.smoothstep(0.25, 4.0, x)


@ti.func
def clamp(x, y):
    return ti.math.clamp(x, -1.5, y)


@ti.func
def mix(x, y):
    return ti.math.mix(x, y, 0.25)


@ti.func
def divide(x, y):
    return x / y


@ti.func
def floor_divide(x, y):
    return x // y


@ti.func
def modulo(x, y):
    return x % y


@ti.func
def power(x, y):
    return x**y


def _fraction(x: Array) -> Array:
    return x - np.floor(x)


def _smoothstep(x: Array) -> Array:
    t = np.fmin(1, np.fmax(0, (x - 0.25) / 3.75))
    return t * t * (3 - 2 * t)


def _floor_divide(x: Array, y: Array) -> Array:
    return np.floor(x / y)


def _modulo(x: Array, y: Array) -> Array:
    return x - y * np.floor(x / y)


def _clamp(x: Array, y: Array) -> Array:
    return np.fmin(y, np.fmax(x, -1.5))


def _step(x: Array, y: Array) -> Array:
    return (y >= x).astype(x.dtype)


def _mix(x: Array, y: Array) -> Array:
    return x * x.dtype.type(0.75) + y * x.dtype.type(0.25)


def flusher(name: str) -> Flush:
    """Return what takes subnormal numbers of a type as zeros of their sign."""
    tiny = np.finfo(TYPES[name]).tiny
    return lambda x: np.where(np.abs(x) < tiny, np.copysign(x.dtype.type(0), x), x)


def _flushed_floor_divide(flush: Flush, x: Array, y: Array) -> Array:
    """Our division of f32 works by bits: only the floor of its quotient takes subnormal numbers as 0."""
    return np.floor(flush(x / y if x.dtype == np.float32 else flush(x) / flush(y)))


def _flushed_modulo(flush: Flush, x: Array, y: Array) -> Array:
    return flush(flush(x) - flush(flush(y) * _flushed_floor_divide(flush, x, y)))


def _flushed_mix(flush: Flush, x: Array, y: Array) -> Array:
    return flush(flush(flush(x) * x.dtype.type(0.75)) + flush(flush(y) * x.dtype.type(0.25)))


ROWS: tuple[Row, ...] = (
    *(Row(name, 1, getattr(ti, name), OPS[name].meaning) for name in MATH_H if name not in ("floor", "ceil")),
    Row("rsqrt", 1, ti.rsqrt, lambda x: 1 / np.sqrt(x)),
    Row("floor", 1, ti.floor, np.floor, flushed=lambda flush, x: np.floor(flush(x))),
    Row("ceil", 1, ti.ceil, np.ceil, flushed=lambda flush, x: np.ceil(flush(x))),
    Row("round", 1, ti.round, np.rint),
    Row("abs", 1, ti.abs, np.abs),
    Row("sign", 1, ti.math.sign, np.sign, any_zero=True),
    Row("frexp", 1, mantissa, lambda x: np.frexp(x)[0]),
    Row("math.log2", 1, ti.math.log2, np.log2),
    Row("math.fract", 1, ti.math.fract, _fraction, flushed=lambda flush, x: _fraction(flush(x))),
    Row("math.degrees", 1, ti.math.degrees, np.degrees, flushed=lambda flush, x: flush(np.degrees(flush(x)))),
    Row("math.radians", 1, ti.math.radians, np.radians, flushed=lambda flush, x: flush(np.radians(flush(x)))),
    Row("math.smoothstep", 1, smoothstep, _smoothstep),
    Row("atan2", 2, ti.atan2, np.arctan2),
    Row("**", 2, power, np.power),
    Row("/", 2, divide, np.divide),
    Row("//", 2, floor_divide, _floor_divide, stepwise=True, flushed=_flushed_floor_divide),
    Row("%", 2, modulo, _modulo, stepwise=True, flushed=_flushed_modulo),
    Row("raw_div", 2, ti.raw_div, np.divide),
    Row("raw_mod", 2, ti.raw_mod, np.fmod),
    Row("min", 2, ti.min, np.fmin, any_zero=True),
    Row("max", 2, ti.max, np.fmax, any_zero=True),
    Row("math.mod", 2, ti.math.mod, _modulo, stepwise=True, flushed=_flushed_modulo),
    Row("math.mix", 2, mix, _mix, stepwise=True, flushed=_flushed_mix),
    Row("math.clamp", 2, clamp, _clamp, any_zero=True),
    Row("math.step", 2, ti.math.step, _step, flushed=lambda flush, x, y: _step(flush(x), flush(y))),
)


def kernel_of(rows: tuple[Row, ...]) -> Any:
    """Return a kernel that computes out[k, i] = rows[k](x[i], y[i])."""

    @ti.kernel
    def evaluate(x: ti.types.ndarray(), y: ti.types.ndarray(), out: ti.types.ndarray()):
        for i in range(x.shape[0]):
            for k in ti.static(range(len(rows))):
                if ti.static(rows[k].arity == 1):
                    out[k, i] = rows[k].kernel(x[i])
                else:
                    out[k, i] = rows[k].kernel(x[i], y[i])

    return evaluate


# --- arguments --------------------------------------------------------------------------------------------------------


def _neighbours(values: Array, dtype: Any) -> Array:
    """Return values rounded to the type, and their neighbours."""
    with np.errstate(over="ignore"):
        near = values.astype(dtype)
        return np.concatenate([near, np.nextafter(near, dtype(np.inf)), np.nextafter(near, dtype(-np.inf))])


def _landmarks(dtype: Any) -> Array:
    """Return where functions start, end, have an extremum or change their method of computation."""
    info = np.finfo(dtype)
    limits = np.array([info.max, info.tiny, info.smallest_subnormal, info.tiny / 2, info.eps, 2.0**info.nmant], dtype)
    limits = np.concatenate([limits.astype(np.longdouble) * scale for scale in (1, 2, 0.5)])
    largest, least = np.log(np.longdouble(info.max)), np.log(np.longdouble(info.smallest_subnormal))
    landmarks = [largest, least, np.log(np.longdouble(info.tiny)), largest / 2]
    landmarks += [0.25, 0.5, 0.55, 0.625, 1, 1.5, 2, 2.5, 4]
    landmarks += [np.sqrt(np.longdouble(0.5)), np.sqrt(np.longdouble(2)), 3, 9, 10, 18.5, 20, 22, 100, 1e4, 1e5, 1e6]
    values = _neighbours(np.concatenate([limits, np.array(landmarks, np.longdouble)]), dtype)
    values = np.concatenate([values, -values, [np.inf, -np.inf, np.nan, 0.0, -0.0]])
    return values.astype(dtype)


def _angles(dtype: Any) -> Array:
    """Return numbers near multiples of pi/2: sin and tan are near zero there, and few bits of the argument count."""
    steps = np.unique(np.concatenate([np.arange(1, 33), 2 ** np.arange(5, 60), 3 * 2 ** np.arange(5, 60)]))
    near = _neighbours(steps.astype(np.longdouble) * (np.pi / np.longdouble(2) + 6.123233995736766e-17), dtype)
    return np.append(near, dtype(NEAREST_TO_HALF_PI["f32"]))


def _of_all_sizes(random: np.random.Generator, dtype: Any, count: int) -> Array:
    """Return random numbers of which each exponent is as likely."""
    kind = np.uint32 if dtype is np.float32 else np.uint64
    values = random.integers(0, np.iinfo(kind).max, count, kind, endpoint=True).view(dtype)
    return np.where(np.isfinite(values), values, dtype(1.25))


@cache
def unary_arguments(name: str) -> Array:
    """Return the arguments of functions of one number."""
    dtype, random = TYPES[name], np.random.default_rng(3)
    middle = [np.linspace(-1, 1, 401), np.linspace(-10, 10, 501), np.linspace(-110, 110, 301)]
    ones = 1 + np.concatenate([2.0 ** -np.arange(1, 24), -(2.0 ** -np.arange(1, 24))])
    parts = [_landmarks(dtype), _angles(dtype), np.concatenate([*middle, ones, -ones]).astype(dtype)]
    known = np.concatenate(parts)
    return np.concatenate([known, _of_all_sizes(random, dtype, COUNT - len(known))])


@cache
def binary_arguments(name: str) -> tuple[Array, Array]:
    """Return pairs: all of 35 edge values, quotients near whole numbers, powers of moderate size, and any."""
    dtype, random = TYPES[name], np.random.default_rng(4)
    info = np.finfo(dtype)
    edges = [0.0, 1.0, 0.5, 0.1, 2.0, 3.0, 7.5, 1e5, 2.0**info.nmant + 1, info.max, info.max * 0.75, info.tiny]
    edges += [info.smallest_subnormal, info.tiny / 4, 1 + info.eps, 1 - info.epsneg, np.inf]
    values = np.array([*edges, *(-np.array(edges)), np.nan], dtype)
    x, y = (grid.ravel() for grid in np.meshgrid(values, values))
    whole = random.integers(1, 1000, 300)
    divisor = random.uniform(-10, 10, 300).astype(dtype)
    base = np.exp(random.uniform(-1, 1, 900) * np.log(10) ** random.uniform(-5, 4, 900)).astype(dtype)
    reach = np.log(np.longdouble(info.max)) * random.uniform(-1.05, 1.05, 900)  # powers over the whole range
    exponent = (reach / np.log(base.astype(np.longdouble))).astype(dtype)
    rest = COUNT - len(x) - 300 - 900
    x = np.concatenate([x, whole.astype(dtype) * divisor, base, _of_all_sizes(random, dtype, rest)])
    y = np.concatenate([y, divisor, exponent, _of_all_sizes(random, dtype, rest)])
    return x, y


# --- errors -----------------------------------------------------------------------------------------------------------


def true_values(row: Row, name: str) -> tuple[tuple[Array, ...], Array]:
    """Return the arguments of a function and its true values."""
    arguments = (unary_arguments(name),) if row.arity == 1 else binary_arguments(name)
    with np.errstate(all="ignore"):
        kind = TYPES[name] if row.stepwise else np.longdouble
        return arguments, row.reference(*(values.astype(kind) for values in arguments)).astype(np.longdouble)


def flushes_subnormals(name: str) -> bool:
    """Return whether the device in use takes subnormal numbers of a type as 0 in plain arithmetic."""
    x = np.full(1, np.finfo(TYPES[name]).tiny / 2, TYPES[name])
    doubled = np.ones(1, TYPES[name])

    @ti.kernel
    def double(x: ti.types.ndarray(), doubled: ti.types.ndarray()):
        for i in x:
            doubled[i] = x[i] + x[i]

    double(x, doubled)
    ti.sync()
    return not doubled[0]


def errors_where_flushed(row: Row, name: str, found: Array) -> Array:
    """Return the errors [ulp] of results, of each the lesser: with subnormal numbers, and with those taken as 0."""
    arguments, true = true_values(row, name)
    errors = ulp_errors(found, true, row.any_zero)
    if row.flushed is None and name == "f32":
        return errors
    flush = flusher(name)
    with np.errstate(all="ignore"):
        kind = TYPES[name] if row.stepwise else np.longdouble
        values = [x.astype(kind) for x in arguments]
        flushed = flush(row.reference(*map(flush, values))) if row.flushed is None else row.flushed(flush, *values)
    least = 0.0 if row.flushed else np.finfo(TYPES[name]).tiny  # what a step of a function of f64 may lose
    return np.fmin(errors, ulp_errors(found, flushed.astype(np.longdouble), row.any_zero, least))


def ulp_errors(found: Array, true: Array, any_zero: bool = False, least: float = 0.0) -> Array:
    """Return the errors [ulp] of results; infinite where a NaN, a pole or the sign of a zero is missed.

    least: spacings below this count as this.
    """
    info = np.finfo(found.dtype)
    limit = np.ldexp(np.longdouble(1), info.maxexp)
    near, here = np.clip(true, -limit, limit), np.clip(found.astype(np.longdouble), -limit, limit)
    exponent = np.clip(np.frexp(near)[1] - 1, info.minexp, info.maxexp - 1)
    with np.errstate(invalid="ignore"):
        errors = np.abs(here - near) / np.fmax(np.ldexp(np.longdouble(1), exponent - info.nmant), least)
    both_nan = np.isnan(found) & np.isnan(true)
    errors[np.isnan(errors) | (np.isinf(true) & (found != true))] = np.inf
    if not any_zero:
        errors[(found == 0) & (np.signbit(found) != np.signbit(true))] = np.inf
    errors[both_nan] = 0
    with np.errstate(over="ignore"):
        return errors.astype(np.float64)


def evaluate(rows: tuple[Row, ...], name: str) -> dict[str, Array]:
    """Return what the functions give on the current device, by name. All rows must have one arity."""
    arguments = true_values(rows[0], name)[0]
    out = np.zeros((len(rows), COUNT), TYPES[name])
    kernel_of(rows)(arguments[0], arguments[-1], out)
    ti.sync()
    return {row.name: values for row, values in zip(rows, out)}
