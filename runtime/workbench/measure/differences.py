"""How much the numbers of two runs of a kernel differ, and whether rounding explains it.

In: `Values` of the generated source, one of each of its runs, and of another source. Out: an `Output`.

The tolerances, unless the caller gives others:

| type | accepted |
|---|---|
| integers, truth values | equal |
| arrays that the kernel does not write | equal |
| f64 | relative 1e-12, and a tenth of that of what is usual in the array |
| f32 | relative 1e-5, likewise: about 80 units in the last place |
| f16 | relative 4e-3, likewise: 4 units in the last place |

What is usual is the median of the magnitudes that are not 0: where terms cancel, an error is as large as the terms'
rounding. Not-a-number equals itself. If runs of the generated source differ among themselves, twice their spread is
added, and an integer that they give differently may be any; numbers whose runs differ in their order alone are compared
in ascending order. So are those of arrays that are only written where the kernel uses what an atomic gives, a place in
a list: on the host runs often agree by chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays.memory import Array
from .values import Values

RELATIVE = {2: 4e-3, 4: 1e-5, 8: 1e-12}
"""Largest relative difference of floating-point numbers, by their size [bytes]."""
SHARE = 0.1
"""How much of the relative difference is accepted of what is usual in an array."""
AGAINST = "against f64"
FACTOR = 2.0
"""How many times farther from the reference than those of the generated source numbers may be."""
MOST = {2: 0.1, 4: 0.01, 8: 0.01}
"""The largest relative error that this excuses, by size [bytes]: where the generated numbers are farther from those in
f64, a branch or a cast has gone another way there, and nearly anything would be as close."""
TYPICAL = 0.9
"""The quantile of the generated source's relative errors that counts as its error where it is right by chance."""
SPREADS = 2.0
"""How many times the spread of the generated source's own runs is added."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A number that differs. text: its name in Python, `b[3, 17]`; index: of its element."""

    text: str
    index: tuple[int, ...]
    expected: Any
    found: Any

    def __str__(self) -> str:
        return f"{self.text}: {_shown(self.expected)}, found {_shown(self.found)}"


@dataclass(frozen=True, slots=True)
class Output:
    """One array, member of an array of structs, or result, of two sources.

    equal: no number differs. passed: none by more than is accepted. max_abs, max_ulp: largest difference; inf where one
    text gives NaN or infinity alone; max_ulp is None for integers. count: numbers that are not accepted. first: the
    first of these, else the first that differs at all. is_written: the kernel may change it. nondeterministic: runs of
    the generated source differ. note: on how it was compared.
    """

    name: str
    type: str
    shape: tuple[int, ...]
    is_written: bool
    equal: bool
    passed: bool
    max_abs: float = 0.0
    max_ulp: int | None = None
    count: int = 0
    first: Mismatch | None = None
    nondeterministic: bool = False
    note: str = ""

    @property
    def verdict(self) -> str:
        """One or two words."""
        return "equal" if self.equal else "within tolerance" if self.passed else "DIFFERS"


@dataclass(frozen=True, slots=True)
class Tolerance:
    """Tolerances of the caller; None: by type, as in the table above."""

    relative: float | None = None
    absolute: float | None = None

    def of(self, base: Array) -> tuple[float, float]:
        """Return relative and absolute tolerance for numbers like those of `base`."""
        if base.dtype.kind != "f":
            return self.relative or 0.0, self.absolute or 0.0
        relative = RELATIVE[base.dtype.itemsize] if self.relative is None else self.relative
        if self.absolute is not None:
            return relative, self.absolute
        magnitudes = np.abs(base[np.isfinite(base) & (base != 0)]).astype(np.float64)
        usual = float(np.median(magnitudes)) if magnitudes.size else 0.0
        return relative, SHARE * relative * usual


def judge(
    base: Sequence[Values],
    expected: Values,
    found: Values,
    tolerance: Tolerance,
    pattern: int | None = None,
    unordered: bool = False,
    reference: Array | None = None,
) -> Output:
    """Compare one run of another source with the run of the generated source under equal conditions.

    base: runs of the generated source from the same contents. expected: the one to compare with, of these or of one
    with another pattern. reference: the numbers in f64, where they are known. pattern: byte that all of the array was
    filled with before, None where it was not. unordered: the order of its numbers may change from run to run.
    """
    if expected.keys is not None:
        return _judge_sparse(base, expected, found, tolerance, unordered)
    return _judge_numbers([values.array for values in base], expected, found, tolerance, pattern, unordered, reference)


def merged(outputs: Sequence[Output]) -> Output:
    """Return the rounds of one output combined: the first that failed, and the largest differences.

    Those of rounds with an odd number count where the others show none: they begin with arrays filled with a pattern.
    """
    worst = next((o for o in outputs if not o.passed), next((o for o in outputs if not o.equal), outputs[0]))
    shown = [output for output in outputs[::2] if not output.equal] or list(outputs)
    ulps = [output.max_ulp for output in shown if output.max_ulp is not None]
    return replace(
        worst,
        equal=all(output.equal for output in outputs),
        passed=all(output.passed for output in outputs),
        max_abs=max(output.max_abs for output in shown),
        max_ulp=max(ulps) if ulps else None,
        nondeterministic=any(output.nondeterministic for output in outputs),
    )


def _judge_numbers(
    base: Sequence[Array],
    expected: Values,
    found: Values,
    tolerance: Tolerance,
    pattern: int | None = None,
    unordered: bool = False,
    reference: Array | None = None,
) -> Output:
    one, other = expected.array, found.array
    spread = spread_of(base)
    differs = different(one, other)
    is_float = one.dtype.kind == "f"
    output = Output(
        expected.label, expected.type, expected.shape, expected.is_written, True, True,
        max_ulp=0 if is_float else None, nondeterministic=spread > 0,
        note="runs of the generated source differ" if spread > 0 else "",
    )  # fmt: skip
    if not differs.any():
        return output
    if unordered or (spread > 0 and _are_permutations(base)):
        return _judge_order(output, expected, found, pattern, tolerance.of(base[0]))
    wrong = differs
    if expected.is_written:
        relative, absolute = tolerance.of(base[0])
        wrong = differs & ~_close(one, other, relative, absolute + SPREADS * spread)
        if is_float and reference is not None and reference.shape == one.shape and wrong.any():
            output, wrong = _measured(output, one, other, reference, wrong, (relative, absolute))
        if not is_float:
            for array in base[1:]:
                wrong &= ~different(base[0], array)
    position = int(np.flatnonzero((wrong if wrong.any() else differs).ravel())[0])
    pair = [_item(array, position, pattern) for array in (one, other)]
    count = int(np.count_nonzero(wrong))
    return replace(
        output, equal=False, passed=count == 0, max_abs=largest_difference(one, other),
        max_ulp=largest_ulps(one, other), count=count,
        first=Mismatch(expected.text_of(position), expected.index_of(position), *pair),
    )  # fmt: skip


def _measured(
    output: Output, one: Array, other: Array, reference: Array, wrong: Array, limits: tuple[float, float]
) -> tuple[Output, Array]:
    """Accept numbers that are about as close to the reference as those of the generated source, or closer."""
    exact = np.atleast_1d(reference).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rounded = exact.astype(one.dtype)
        generated_errors, found_errors = (
            distances(np.atleast_1d(one), rounded),
            distances(np.atleast_1d(other), rounded),
        )
        size = np.abs(rounded.astype(np.float64))
        usual = size[np.isfinite(size) & (size > 0)]
        scale = size + (float(np.median(usual)) if usual.size else 0.0)
        known = np.isfinite(generated_errors) & (scale > 0) & np.isfinite(scale)
        typical = float(np.quantile(generated_errors[known] / scale[known], TYPICAL)) if known.any() else 0.0
        own = np.where(np.isfinite(generated_errors), generated_errors, 0.0)
        excused = np.minimum(FACTOR * np.maximum(own, typical * scale), MOST[one.dtype.itemsize] * scale)
        allowed = limits[1] + limits[0] * size + excused
        passes = found_errors <= allowed
    errors = [_largest(error, scale) for error in (generated_errors, found_errors)]
    note = f"{AGAINST}: generated off by {errors[0]}, found by {errors[1]}"
    return replace(output, note=note), wrong & ~passes


def _largest(error: Array, scale: Array) -> str:
    """Return the largest relative error, for people."""
    known = (scale > 0) & np.isfinite(scale)
    relative = error[known] / scale[known]
    return f"{float(relative.max()):.2g}" if relative.size else "0"


def _judge_order(
    output: Output, expected: Values, found: Values, pattern: int | None, limits: tuple[float, float]
) -> Output:
    """Compare numbers whose order may change from run to run: the same ones have to be there."""
    one, other = np.sort(expected.array, axis=None), np.sort(found.array, axis=None)
    wrong = different(one, other)
    if one.dtype.kind == "f":
        wrong &= ~_close(one, other, *limits)
    if not wrong.any():
        return replace(output, equal=False, note="the same numbers in another order, as between runs")
    position = int(np.flatnonzero(wrong)[0])
    pair = [_item(array, position, pattern) for array in (one, other)]
    return replace(
        output, equal=False, passed=False, max_abs=largest_difference(one, other), max_ulp=largest_ulps(one, other),
        count=int(np.count_nonzero(wrong)), note="compared in ascending order",
        first=Mismatch(f"{expected.label}, number {position} in ascending order", (position,), *pair),
    )  # fmt: skip


def _item(array: Array, position: int, pattern: int | None) -> Any:
    """Return a number as in Python; a remark if it still has the pattern of memory without contents."""
    item = array.ravel()[position]
    is_pattern = pattern is not None and item.tobytes() == bytes([pattern]) * item.itemsize
    return "not written" if is_pattern else item.item()


def _judge_sparse(
    base: Sequence[Values], expected: Values, found: Values, tolerance: Tolerance, unordered: bool
) -> Output:
    """Compare active elements: an element that is active in only one of them is a mismatch."""
    assert expected.keys is not None and found.keys is not None
    keys = np.unique(np.concatenate([values.keys for values in (*base, expected, found) if values.keys is not None]))
    one, other = _at(expected, keys), _at(found, keys)
    arrays = [_at(values, keys).array for values in base]
    output = _judge_numbers(arrays, one, other, tolerance, unordered=unordered)
    alone = np.setxor1d(expected.keys, found.keys)
    if not alone.size:
        return output
    place = int(np.searchsorted(keys, alone[0])) * max(1, int(np.prod(one.array.shape[1:])))
    is_expected = bool(np.isin(alone[0], expected.keys))
    words = ("active", "not active") if is_expected else ("not active", "active")
    return replace(
        output, equal=False, passed=False, count=int(alone.size) + output.count, note="other elements are active",
        first=Mismatch(one.text_of(place), one.index_of(place), *words),
    )  # fmt: skip


def _at(values: Values, keys: Array) -> Values:
    """Return the elements at all of `keys`, 0 where they are not active."""
    assert values.keys is not None
    array = np.zeros((keys.size, *values.array.shape[1:]), values.array.dtype)
    array[np.searchsorted(keys, values.keys)] = values.array
    return replace(values, array=array, keys=keys)


# --- arithmetic


def different(one: Array, other: Array) -> Array:
    """Return where numbers differ; NaN equals NaN."""
    differs: Array = np.atleast_1d(one != other)
    if one.dtype.kind == "f":
        differs &= ~np.atleast_1d(np.isnan(one) & np.isnan(other))
    return differs


def _close(one: Array, other: Array, relative: float, absolute: float) -> Array:
    """Return where numbers differ by no more than is accepted; infinities and NaN never do."""
    if one.dtype.kind != "f":
        gap = distances(one, other)
        close: Array = gap <= absolute + relative * np.abs(np.atleast_1d(one).astype(np.float64))
        return close
    a, b = np.atleast_1d(one).astype(np.float64), np.atleast_1d(other).astype(np.float64)
    finite = np.isfinite(a) & np.isfinite(b)
    with np.errstate(invalid="ignore", over="ignore"):
        within: Array = np.abs(a - b) <= absolute + relative * np.abs(a)
    return finite & within


def distances(one: Array, other: Array) -> Array:
    """Return the absolute differences; inf where only one is NaN or infinite."""
    a, b = np.atleast_1d(one), np.atleast_1d(other)
    if a.dtype.kind != "f":
        wide = np.int64 if a.dtype.kind == "i" else np.uint64
        larger, smaller = np.maximum(a, b).astype(wide), np.minimum(a, b).astype(wide)
        gap: Array = larger.view(np.uint64) - smaller.view(np.uint64)  # modulo 2^64: exact also across all of i64
        return gap
    with np.errstate(invalid="ignore", over="ignore"):
        gap = np.abs(a.astype(np.float64) - b.astype(np.float64))
    gap[~different(a, b)] = 0.0
    gap[np.isnan(gap)] = np.inf
    return gap


def largest_difference(one: Array, other: Array) -> float:
    """Return the largest absolute difference."""
    gap = distances(one, other)
    return float(gap.max()) if gap.size else 0.0


def largest_ulps(one: Array, other: Array) -> int | None:
    """Return the largest difference of floats in units in the last place, None for integers; NaN is beyond inf."""
    if one.dtype.kind != "f":
        return None
    steps = [_steps(np.atleast_1d(array)) for array in (one, other)]
    differs = different(one, other)
    pairs = zip(steps[0][differs].tolist(), steps[1][differs].tolist(), strict=True)
    return max((abs(a - b) for a, b in pairs), default=0)


def _steps(array: Array) -> Array:
    """Return the number of each float in the order of all floats, 0 for both zeros."""
    whole = np.dtype(f"i{array.dtype.itemsize}")
    bits = np.ascontiguousarray(array).view(whole).astype(np.int64)
    lowest = np.int64(-(2 ** (8 * array.dtype.itemsize - 1)))
    return np.where(bits < 0, lowest - bits, bits)


def spread_of(runs: Sequence[Array]) -> float:
    """Return the largest difference between runs of one source; inf where only one is NaN or infinite."""
    return max((largest_difference(runs[0], run) for run in runs[1:]), default=0.0)


def _are_permutations(arrays: Sequence[Array]) -> bool:
    """Return whether all arrays have the same numbers."""
    first, *others = (np.sort(array, axis=None) for array in arrays)
    return not any(different(first, other).any() for other in others)


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.9g}" if isinstance(value, float) else str(value)
