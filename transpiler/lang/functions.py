"""The functions of `ti` that are not `operations` (`ti.static`, `ti.ndrange`, `ti.atomic_add`) in Python scope.

In a kernel the frontend finds the handler of each by the identity of the function object; `atomics.ATOMIC_OF`
and `operations.OPERATION_OF` map those that are one operation to its name. In Python scope they compute with NumPy as
Taichi does, or raise Taichi's error.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ..errors import TaichiSyntaxError, TaichiTypeError
from ..ir.ops import OPS
from .annotations import template
from .atomics import atomic_add, atomic_and, atomic_max, atomic_min, atomic_mul, atomic_or, atomic_sub, atomic_xor
from .decorators import func
from .hooks import kernel_only, scalar_of
from .matrix import Matrix, elementwise, unwrap, wrap
from .operations import cast, cos, log, operation, sqrt

__all__ = [
    "assume_in_range", "atomic_add", "atomic_and", "atomic_max", "atomic_min", "atomic_mul", "atomic_or",
    "atomic_sub", "atomic_xor", "bit_cast", "bit_shr", "block_local", "cache_read_only", "cast", "frexp",
    "global_thread_idx", "grouped", "loop_config", "loop_unique", "ndrange", "one", "randn", "random", "raw_div",
    "raw_mod", "rsqrt", "select", "static", "static_assert", "static_print", "stop_grad", "zero",
]  # fmt: skip

two_pi = 6.283185307179586
"""Public names of `ti`."""


@operation("rsqrt")
def rsqrt(x: Any) -> Any:
    """Return one over the square root of `x`.

    Example:
        >>> ti.rsqrt(4.0)
        0.5
    """
    return elementwise(lambda a: 1 / np.sqrt(a), x)


class Frexp(NamedTuple):
    """The result of `frexp`."""

    mantissa: Any
    exponent: Any


def frexp(x: Any) -> Frexp:
    """Return the mantissa in [0.5, 1) (with the sign of `x`) and the exponent: x = mantissa * 2**exponent.

    Example:
        >>> ti.frexp(6.0)
        Frexp(mantissa=0.75, exponent=3)
    """
    return Frexp(*map(wrap, np.frexp(unwrap(x)))) if isinstance(x, Matrix) else Frexp(*np.frexp(x))


@operation("raw_div")
def raw_div(x1: Any, x2: Any) -> Any:
    """Return `x1 / x2` as C gives it in kernels: integers truncate. In Python scope integers floor, as in Taichi.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.raw_div(-7, 2)
        >>> example()
        -3
    """
    return x1 // x2 if isinstance(x1, int) and isinstance(x2, int) else x1 / x2


@operation("raw_mod")
def raw_mod(x1: Any, x2: Any) -> Any:
    """Return the remainder of `x1 / x2` with the sign of the dividend `x1`, as C gives it.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.raw_mod(-7, 2)
        >>> example()
        -1
    """
    return elementwise(np.fmod, x1, x2) if not isinstance(x1, int | float) else np.fmod(x1, x2).item()


@operation("shr")
def bit_shr(x1: Any, x2: Any) -> Any:
    """Shift the bits of `x1` right by `x2` places and fill with zeros; kernels only.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.bit_shr(-1, 28)
        >>> example()
        15
    """
    kernel_only("bit_shr")


@operation("select")
def select(cond: Any, x1: Any, x2: Any) -> Any:
    """Return `x1` where `cond` holds and `x2` elsewhere, by elements; both are evaluated.

    Example:
        >>> ti.select(3 > 2, 10, 20)
        10
    """
    return wrap(np.where(np.asarray(unwrap(cond)) != 0, unwrap(x1), unwrap(x2))[()])


@operation("isnan")
def isnan(x: Any) -> Any:
    """Return whether `x` is not a number.

    Example:
        >>> bool(ti.math.isnan(ti.math.nan))
        True
    """
    return elementwise(np.isnan, x)


@operation("isinf")
def isinf(x: Any) -> Any:
    """Return whether `x` is plus or minus infinity.

    Example:
        >>> bool(ti.math.isinf(ti.math.inf))
        True
    """
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
    """Return the number of one bits of `x`; a Python `int`, also in a vector, counts as an i32.

    Example:
        >>> ti.math.popcnt(7)
        3
    """
    return elementwise(lambda a: _count("popcnt", a), x)


@operation("clz")
def clz(x: Any) -> Any:
    """Return the number of zero bits above the highest one of `x`; a Python `int`, also in a vector, counts as an i32.

    Example:
        >>> ti.math.clz(1)
        31
    """
    return elementwise(lambda a: _count("clz", a), x)


def bit_cast(obj: Any, dtype: Any) -> Any:
    """Return the number of type `dtype` with the bits of `obj`; Python numbers count as the session's default types.

    Raises: TaichiTypeError for a type of another size.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return ti.bit_cast(1.0, ti.i32)
        >>> example()
        1065353216
    """
    scalar = scalar_of(dtype)
    bits = np.asarray(obj, dtype=None if isinstance(obj, np.generic) else scalar_of(type(obj)).numpy)
    if bits.dtype.itemsize != scalar.size_bytes:
        raise TaichiTypeError(f"bit_cast needs types of one width, found {bits.dtype} and {scalar}")
    return bits.view(scalar.numpy)[()].item()


def zero(x: Any) -> Any:
    """Return a zero of the type and shape of `x`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     x = 5
        ...     return ti.zero(x)
        >>> example()
        0
    """
    kernel_only("zero")


def one(x: Any) -> Any:
    """Return a one of the type and shape of `x`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     x = 5
        ...     return ti.one(x)
        >>> example()
        1
    """
    kernel_only("one")


def random(dtype: Any = float) -> Any:
    """Return a random number of type `dtype`: floats uniform in [0, 1), integers over all bits; kernels only.

    Raises: TaichiSyntaxError in Python scope.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     x = ti.random()
        ...     return 0 <= x < 1
        >>> example()
        1
    """
    raise TaichiSyntaxError("Taichi functions cannot be called from Python-scope.")


@func
def randn(dt: template = float) -> Any:  # type: ignore[assignment]
    """Return a normally distributed random number of type `dt`, mean 0 and deviation 1; kernels only.

    Source: Box and Muller, "A Note on the Generation of Random Normal Deviates" (1958).

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     return -9 < ti.randn() < 9
        >>> example()
        1
    """
    radius = sqrt(-2.0 * log(1.0 - random(dt)))
    return radius * cos(random(dt) * two_pi)


def stop_grad(x: Any) -> Any:
    """Stop gradients at `x`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.f32:
        ...     x = 2.0
        ...     return ti.stop_grad(x) * 3.0
        >>> example()
        6.0
    """
    kernel_only("stop_grad")


def static(x: Any, *xs: Any) -> Any:
    """Evaluate `x`, or `x` and all `xs`, at compile time; in Python scope return the value, or several as a list.

    A loop over `ti.static(range(n))` is unrolled, and of an `if ti.static(condition)` one branch is compiled.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     total = 0
        ...     for k in ti.static(range(3)):
        ...         total += k
        ...     return total
        >>> example()
        3
    """
    return [x, *xs] if xs else x


def static_print(*args: Any, **kwargs: Any) -> Any:
    """Print `args` while a kernel is compiled; kernels only. kwargs: those of `print`.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.i32:
        ...     x = 1.5
        ...     ti.static_print("compiled once")
        ...     return ti.cast(x, ti.i32)
        >>> example()  # doctest: +ELLIPSIS
        [...] compiled once
        1
    """
    kernel_only("static_print")


def static_assert(cond: Any, msg: Any = None) -> None:
    """Check `cond` while a kernel is compiled, or at once in Python scope; `msg` is the message if it is false.

    Raises: TaichiTypeError in a kernel, AssertionError in Python scope.

    Example:
        >>> ti.static_assert(1 + 1 == 2, "arithmetic")
    """
    if not cond:
        raise AssertionError(*(() if msg is None else (msg,)))


def grouped(x: Any) -> Any:
    """Loop over `x`, a field, an ndarray or an `ndrange`, with one index vector; kernels only.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.i32, 2)):
        ...     for I in ti.grouped(x):
        ...         x[I] = 10 * I[0] + I[1]
        >>> x = ti.ndarray(ti.i32, (2, 3))
        >>> fill(x)
        >>> x.to_numpy().tolist()
        [[0, 1, 2], [10, 11, 12]]
    """
    kernel_only("grouped")


def loop_config(
    *,
    block_dim: int | None = None,
    serialize: bool = False,
    parallelize: int | None = None,
    block_dim_adaptive: bool = True,
    bit_vectorize: bool = False,
    unroll: int | bool | None = None,
    grid_stride: bool | None = None,
) -> Any:
    """Configure the loop that follows; kernels only.

    block_dim: threads in a block [threads], a power of two; None: the compiler decides.
    serialize: the loop runs on one thread, in order. parallelize: number of host threads.
    unroll: of a serial loop, True for a hint to unroll it; in CUDA C and C also how many iterations together.
    grid_stride: whether a thread of a GPU runs several iterations, where both are possible; None: the compiler decides.
    block_dim_adaptive, bit_vectorize: accepted as Taichi's options, without effect.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=64)
        ...     for i in x:
        ...         x[i] = i
        >>> x = ti.ndarray(ti.i32, 3)
        >>> fill(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2]
    """
    kernel_only("loop_config")


def block_local(*args: Any) -> Any:
    """Let each block of threads of the next loop load what it reads of the fields `args` into shared memory.

    On GPUs, for fields that the loop reads at constant distances from its indices and does not write, in loops over
    fields or with constant bounds. Others stay as they are. It does not change results. Kernels only.

    Example:
        >>> x = ti.field(ti.f32, 4)
        >>> @ti.kernel
        ... def fill():
        ...     ti.block_local(x)
        ...     for i in x:
        ...         x[i] = i
        >>> fill()
        >>> x.to_numpy().tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    kernel_only("block_local")


def cache_read_only(*args: Any) -> Any:
    """Request a read-only cache of the fields `args`; kernels only. It does not change results.

    Example:
        >>> x = ti.field(ti.f32, 4)
        >>> @ti.kernel
        ... def fill():
        ...     ti.cache_read_only(x)
        ...     for i in x:
        ...         x[i] = i
        >>> fill()
        >>> x.to_numpy().tolist()
        [0.0, 1.0, 2.0, 3.0]
    """
    kernel_only("cache_read_only")


def assume_in_range(val: Any, base: Any, low: Any, high: Any) -> Any:
    """Return `val`, which the program promises to be at least `base + low` and below `base + high`; kernels only.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.assume_in_range(i, 0, 0, 4)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("assume_in_range")


def loop_unique(val: Any, covers: Any = None) -> Any:
    """Return `val`, which the program promises to differ in all iterations of the loop; kernels only.

    covers: the fields that it indexes, or a list of them. It does not change results.

    Example:
        >>> @ti.kernel
        ... def example(x: ti.types.ndarray(ti.i32, 1)):
        ...     for i in range(4):
        ...         x[i] = ti.loop_unique(i)
        >>> x = ti.ndarray(ti.i32, 4)
        >>> example(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("loop_unique")


def global_thread_idx() -> Any:
    """Return the number of this thread among all threads of the parallel loop; kernels only.

    Example:
        >>> @ti.kernel
        ... def numbers(x: ti.types.ndarray(ti.i32, 1)):
        ...     ti.loop_config(block_dim=4)
        ...     for i in range(4):
        ...         x[i] = ti.global_thread_idx()
        >>> x = ti.ndarray(ti.i32, 4)
        >>> numbers(x)
        >>> x.to_numpy().tolist()
        [0, 1, 2, 3]
    """
    kernel_only("global_thread_idx")


class ndrange:  # noqa: N801 - Taichi's public name
    """The product of ranges `args`: `ti.ndrange(3, (2, 5))`; in Python scope it iterates over index tuples.

    Attributes:
        bounds: (begin, end) of each axis, end not below begin.
        dimensions: extents.
        acc_dimensions: products of the extents from each axis to the last.

    args: an extent, counted from 0, or (begin, end), for each axis.

    Example:
        >>> list(ti.ndrange(2, (5, 7)))
        [(0, 5), (0, 6), (1, 5), (1, 6)]
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
