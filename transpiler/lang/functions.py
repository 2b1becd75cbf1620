"""The functions of `ti` that are not `operations` (`ti.static`, `ti.ndrange`, `ti.atomic_add`) in Python scope.

In a kernel the frontend finds the handler of each by the identity of the function object; `ATOMIC_OF` and
`operations.OPERATION_OF` map those that are one operation to its name. In Python scope they compute with NumPy as
Taichi does, or raise Taichi's error.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..errors import TaichiSyntaxError, TaichiTypeError
from ..ir.ops import OPS
from .annotations import template
from .decorators import func
from .hooks import scalar_of
from .matrix import elementwise, unwrap, wrap
from .operations import Function, cast, cos, log, operation, sqrt

__all__ = [
    "assume_in_range", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul", "atomic_or",
    "atomic_sub", "atomic_xor", "bit_cast", "bit_shr", "block_local", "cache_read_only", "cast", "frexp",
    "global_thread_idx", "grouped", "loop_config", "loop_unique", "ndrange", "one", "randn", "random", "raw_div",
    "raw_mod", "rsqrt", "select", "static", "static_assert", "static_print", "stop_grad", "zero",
]  # fmt: skip
"""Public names of `ti`."""

ATOMIC_OF: dict[Callable[..., Any], str] = {}
"""Functions that are one operation of `ir.ops.ATOMIC_OPS`, with its name."""


def _kernel_only(name: str) -> NoReturn:
    raise AssertionError(f"{name} cannot be called in Python-scope")


@operation("rsqrt")
def rsqrt(x: Any) -> Any:
    """Return one over the square root."""
    return elementwise(lambda a: 1 / np.sqrt(a), x)


class Frexp(NamedTuple):
    """The result of `frexp`."""

    mantissa: Any
    exponent: Any


def frexp(x: Any) -> Frexp:
    """Return the mantissa in [0.5, 1) (with the sign of `x`) and the exponent: x = mantissa * 2**exponent."""
    return Frexp(*np.frexp(x))


@operation("raw_div")
def raw_div(x1: Any, x2: Any) -> Any:
    """Return the quotient as C gives it in kernels: integers truncate. In Python scope integers floor, as in Taichi."""
    return x1 // x2 if isinstance(x1, int) and isinstance(x2, int) else x1 / x2


@operation("raw_mod")
def raw_mod(x1: Any, x2: Any) -> Any:
    """Return the remainder with the sign of the dividend, as C gives it."""
    return elementwise(np.fmod, x1, x2) if not isinstance(x1, int) else int(np.fmod(x1, x2))


@operation("shr")
def bit_shr(x1: Any, x2: Any) -> NoReturn:
    """Shift the bits of `x1` right and fill with zeros; kernels only."""
    _kernel_only("bit_shr")


@operation("select")
def select(cond: Any, x1: Any, x2: Any) -> Any:
    """Return `x1` where `cond` holds and `x2` elsewhere, by elements; both are evaluated."""
    return wrap(np.where(np.asarray(unwrap(cond)) != 0, unwrap(x1), unwrap(x2))[()])


@operation("isnan")
def isnan(x: Any) -> Any:
    """Return whether `x` is not a number."""
    return elementwise(np.isnan, x)


@operation("isinf")
def isinf(x: Any) -> Any:
    """Return whether `x` is plus or minus infinity."""
    return elementwise(np.isinf, x)


@operation("sign")
def sign(x: Any) -> Any:
    """Return -1, 0 or 1 in the type of `x`."""
    return elementwise(np.sign, x)


def _count(name: str, x: Any) -> Any:
    is_python = isinstance(x, int) or (isinstance(x, np.ndarray) and x.dtype == np.int64)
    numbers = np.asarray(x, np.int32 if is_python else None)
    counts = [OPS[name].meaning(number) for number in numbers.ravel()]
    return np.array(counts, np.int32).reshape(numbers.shape)[()]


@operation("popcnt")
def popcnt(x: Any) -> Any:
    """Return the number of one bits; a Python `int`, also in a vector, counts as an i32."""
    return elementwise(lambda a: _count("popcnt", a), x)


@operation("clz")
def clz(x: Any) -> Any:
    """Return the number of zero bits above the highest one; a Python `int`, also in a vector, counts as an i32."""
    return elementwise(lambda a: _count("clz", a), x)


def bit_cast(obj: Any, dtype: Any) -> Any:
    """Return the number of type `dtype` with the same bits; Python numbers count as the session's default types."""
    scalar = scalar_of(dtype)
    bits = np.asarray(obj, dtype=None if isinstance(obj, np.generic) else scalar_of(type(obj)).numpy)
    if bits.dtype.itemsize != scalar.size_bytes:
        raise TaichiTypeError(f"bit_cast needs types of one width, found {bits.dtype} and {scalar}")
    return bits.view(scalar.numpy)[()].item()


def zero(x: Any) -> NoReturn:
    """Return a zero of the type and shape of `x`; kernels only."""
    _kernel_only("zero")


def one(x: Any) -> NoReturn:
    """Return a one of the type and shape of `x`; kernels only."""
    _kernel_only("one")


def random(dtype: Any = float) -> NoReturn:
    """Return a random number: floats uniform in [0, 1), integers over all bits; kernels only."""
    raise TaichiSyntaxError("Taichi functions cannot be called from Python-scope.")


@func
def randn(dt: template = float) -> Any:  # type: ignore[assignment]
    """Return a normally distributed random number; kernels only.

    Source: Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958).
    """
    radius = sqrt(-2.0 * log(1.0 - random(dt)))
    return radius * cos(random(dt) * 6.283185307179586)


def stop_grad(x: Any) -> NoReturn:
    """Stop gradients at `x`; kernels only."""
    _kernel_only("stop_grad")


def _atomic(function: Function) -> Function:
    ATOMIC_OF[function] = function.__name__.removeprefix("atomic_")
    return function


def _not_writable(name: str) -> NoReturn:
    raise TaichiSyntaxError(f"cannot use a non-writable target as the first operand of '{name}'")


@_atomic
def atomic_add(x: Any, y: Any) -> NoReturn:
    """Add `y` to `x` in memory and return the old value; kernels only."""
    _not_writable("atomic_add")


@_atomic
def atomic_sub(x: Any, y: Any) -> NoReturn:
    """Subtract `y` from `x` in memory and return the old value; kernels only."""
    _not_writable("atomic_sub")


@_atomic
def atomic_mul(x: Any, y: Any) -> NoReturn:
    """Multiply `x` in memory by `y` and return the old value; kernels only."""
    _not_writable("atomic_mul")


@_atomic
def atomic_min(x: Any, y: Any) -> NoReturn:
    """Store the lesser of `x` and `y` in `x` and return its old value; kernels only."""
    _not_writable("atomic_min")


@_atomic
def atomic_max(x: Any, y: Any) -> NoReturn:
    """Store the greater of `x` and `y` in `x` and return its old value; kernels only."""
    _not_writable("atomic_max")


@_atomic
def atomic_and(x: Any, y: Any) -> NoReturn:
    """Store the bitwise and of `x` and `y` in `x` and return its old value; kernels only."""
    _not_writable("atomic_and")


@_atomic
def atomic_or(x: Any, y: Any) -> NoReturn:
    """Store the bitwise or of `x` and `y` in `x` and return its old value; kernels only."""
    _not_writable("atomic_or")


@_atomic
def atomic_xor(x: Any, y: Any) -> NoReturn:
    """Store the bitwise exclusive or of `x` and `y` in `x` and return its old value; kernels only."""
    _not_writable("atomic_xor")


def static(x: Any, *xs: Any) -> Any:
    """Evaluate at compile time; in Python scope return the value, or several as a list."""
    return [x, *xs] if xs else x


def static_print(*args: Any, **kwargs: Any) -> NoReturn:
    """Print while a kernel is compiled; kernels only."""
    _kernel_only("static_print")


def static_assert(cond: Any, msg: Any = None) -> None:
    """Check a condition while a kernel is compiled, or at once in Python scope."""
    if not cond:
        raise AssertionError(*(() if msg is None else (msg,)))


def grouped(x: Any) -> NoReturn:
    """Loop over a field or ndrange with one index vector; kernels only."""
    _kernel_only("grouped")


def loop_config(
    *,
    block_dim: int | None = None,
    serialize: bool = False,
    parallelize: int | None = None,
    block_dim_adaptive: bool = True,
    bit_vectorize: bool = False,
) -> NoReturn:
    """Configure the loop that follows; kernels only."""
    _kernel_only("loop_config")


def block_local(*args: Any) -> NoReturn:
    """Request a cache of fields in shared memory; kernels only. It does not change results."""
    _kernel_only("block_local")


def cache_read_only(*args: Any) -> NoReturn:
    """Request a read-only cache of fields; kernels only. It does not change results."""
    _kernel_only("cache_read_only")


def assume_in_range(val: Any, base: Any, low: Any, high: Any) -> NoReturn:
    """Return `val`, which the program promises to be at least `base + low` and below `base + high`; kernels only."""
    _kernel_only("assume_in_range")


def loop_unique(val: Any, covers: Any = None) -> NoReturn:
    """Return `val`, which the program promises to differ in all iterations of the loop; kernels only."""
    _kernel_only("loop_unique")


def global_thread_idx() -> NoReturn:
    """Return the number of this thread among all threads of the parallel loop; kernels only."""
    _kernel_only("global_thread_idx")


class ndrange:  # noqa: N801 - Taichi's public name
    """The product of ranges: `ti.ndrange(3, (2, 5))`; in Python scope it iterates over index tuples.

    Attributes:
        bounds: (begin, end) of each axis, end not below begin.
        dimensions: extents.
        acc_dimensions: products of the extents from each axis to the last.
    """

    def __init__(self, *args: Any) -> None:
        self.bounds: list[tuple[int, int]] = [_bounds_of(argument) for argument in args]
        self.dimensions: list[int] = [end - begin for begin, end in self.bounds]
        self.acc_dimensions: list[int] = []
        extent = 1
        for dimension in reversed(self.dimensions):
            extent *= dimension
            self.acc_dimensions.insert(0, extent)

    def __iter__(self) -> Iterator[tuple[int, ...]]:
        return product(*(range(begin, end) for begin, end in self.bounds))

    def __len__(self) -> int:
        return self.acc_dimensions[0] if self.acc_dimensions else 1

    def grouped(self) -> Iterator[Any]:
        """Yield the index tuples as vectors."""
        return (wrap(np.array(indices, dtype=np.int32)) for indices in self)


def _bounds_of(argument: Any) -> tuple[int, int]:
    if isinstance(argument, (list, tuple)):
        if len(argument) != 2:
            raise TaichiSyntaxError("Every argument of ndrange should be a scalar or a tuple/list like (begin, end)")
        begin, end = argument
    else:
        begin, end = 0, argument
    for bound in (begin, end):
        if not isinstance(bound, (int, np.integer)):
            raise TaichiTypeError("Every argument of ndrange should be an integer scalar or a tuple/list of (int, int)")
    return int(begin), int(begin) if end < begin else int(end)
