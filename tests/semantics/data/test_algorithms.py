"""`ti.algorithms` against NumPy: no, one and many elements, fields and ndarrays, integers and floats of all widths."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.algorithms import cub, library

TYPES = [ti.i32, ti.u32, ti.f32, ti.i64, ti.f64]
SMALL_TYPES = [ti.u8, ti.i16, ti.u64]
SIZES = [0, 1, 2, 255, 257, 3000]


def numbers(dtype: Any, n: int, different: bool = False) -> np.ndarray:
    """Return numbers with repetitions, of both signs; floats with a NaN, infinities and both zeros."""
    rng = np.random.default_rng(n)
    if not dtype.is_float:
        limits = np.iinfo(dtype.numpy)
        found = rng.integers(limits.min, limits.max, n, dtype=dtype.numpy, endpoint=True)
    else:
        found = rng.normal(0, 100, n).round(1).astype(dtype.numpy)
        special = [-0.0, 0.0, np.inf, -np.inf, np.nan, 1e-40, -np.nan, 0.0, -0.0][: n // 3]
        found[: len(special)] = special
    found[n // 2 :] = found[: n - n // 2]
    return rng.permutation(found)


def stored(values: np.ndarray, dtype: Any, is_field: bool = False) -> Any:
    made = ti.field(dtype, len(values)) if is_field else ti.ndarray(dtype, len(values))
    made.from_numpy(values)
    return made


def check_order(dtype: Any, n: int) -> None:
    values = numbers(dtype, n)
    order = np.argsort(values, kind="stable")
    is_field = n % 2 == 1
    keys, moved = (
        stored(values, dtype, is_field),
        stored(np.arange(n, dtype=np.float32), ti.f32, not is_field and n > 0),
    )
    assert np.array_equal(ti.algorithms.argsort(keys).to_numpy(), order)
    assert np.array_equal(keys.to_numpy(), values, equal_nan=dtype.is_float)
    ti.algorithms.parallel_sort(keys, moved)
    assert keys.to_numpy().tobytes() == values[order].tobytes()  # NaNs and the signs of zeros too
    assert np.array_equal(moved.to_numpy(), order)


def check_counts(dtype: Any, n: int) -> None:
    values = np.nan_to_num(numbers(dtype, n), posinf=50, neginf=-50) if dtype.is_float else numbers(dtype, n)
    x = stored(values, dtype, n % 2 == 1)
    found, counts = ti.algorithms.unique(x)
    expected = np.unique(values, return_counts=True)
    assert np.array_equal(found.to_numpy(), expected[0]) and np.array_equal(counts.to_numpy(), expected[1])
    if dtype.is_float and n:
        x = stored(np.array([np.nan, 1e-40, -0.0, np.nan, 0.0, -1e-40], dtype.numpy), dtype)
        found, counts = ti.algorithms.unique(x)  # subnormal numbers differ from 0, also where a device flushes them
        assert np.array_equal(found.to_numpy(), np.array([-1e-40, 0, 1e-40, np.nan], dtype.numpy), equal_nan=True)
        assert counts.to_numpy().tolist() == [1, 2, 1, 2]
        every = ti.algorithms.select(x, x).to_numpy()
        assert every.tobytes() == x.to_numpy()[[0, 1, 3, 5]].tobytes()
        x = stored(values, dtype, n % 2 == 1)
    chosen = values > np.median(values) if n else np.zeros(0, bool)
    mask = stored(chosen.astype(np.int32), ti.i32)
    assert np.array_equal(ti.algorithms.select(x, mask).to_numpy(), values[chosen])
    low, high = (0, 100) if dtype.is_float else (np.iinfo(dtype.numpy).min, np.iinfo(dtype.numpy).max)
    expected = np.histogram(values.astype(np.float64), 7, (float(low), float(high)))[0]
    assert np.array_equal(ti.algorithms.histogram(x, 7, low, high).to_numpy(), expected)


def check_scans(dtype: Any, n: int) -> None:
    values = np.nan_to_num(numbers(dtype, n), posinf=50, neginf=-50) if dtype.is_float else numbers(dtype, n)
    is_field = n % 2 == 1
    if not dtype.is_float:
        values |= values.dtype.type(1)
        products = np.cumprod(values, dtype=dtype.numpy)
        assert np.array_equal(ti.algorithms.scan(stored(values, dtype), op="mul").to_numpy(), products)
        before = ti.algorithms.scan(stored(values, dtype), op="mul", inclusive=False).to_numpy()
        assert np.array_equal(before, np.append(values.dtype.type(1), products)[:n])
        assert ti.algorithms.reduce(stored(values, dtype), "mul") == (products[-1] if n else 1)
    x = stored(values, dtype, is_field)
    wide = np.float64 if dtype.is_float else dtype.numpy
    near = (
        {"rtol": 1e-4, "atol": 1e-2}
        if dtype == ti.f32
        else {"rtol": 1e-12, "atol": 1e-9}
        if dtype.is_float
        else {"rtol": 0}
    )
    sums = np.cumsum(values, dtype=wide)
    assert np.allclose(ti.algorithms.scan(x).to_numpy(), sums, **near)
    before = ti.algorithms.scan(x, inclusive=False).to_numpy()
    assert np.allclose(before, np.append(0, sums)[:n].astype(wide), **near)
    assert np.array_equal(ti.algorithms.scan(x, op="max").to_numpy(), np.maximum.accumulate(values))
    assert np.allclose(ti.algorithms.reduce(x), sums[-1] if n else 0, **near)
    for op, of_numpy in (("max", np.max), ("min", np.min)) if n else ():
        assert ti.algorithms.reduce(x, op) == of_numpy(values)
    assert np.array_equal(x.to_numpy(), values)
    ti.algorithms.PrefixSumExecutor(n).run(x)
    assert np.allclose(x.to_numpy(), sums, **near)


CHECKS = {"order": check_order, "counts": check_counts, "scans": check_scans}


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_some_sizes_and_types(target: str, check: str) -> None:
    for dtype, n in ((ti.f32, 260), (ti.i32, 257)) if target != "python" else ((ti.f32, 40), (ti.i32, 1)):
        CHECKS[check](dtype, n)
    CHECKS[check](ti.f32, 0)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_keys_are_sorted(target: str, n: int) -> None:
    keys = stored(np.arange(n)[::-1].copy(), ti.i32)
    ti.algorithms.parallel_sort(keys)
    assert keys.to_numpy().tolist() == list(range(n))


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("dtype", [*TYPES, *SMALL_TYPES], ids=str)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_all_sizes_and_types(target: str, check: str, dtype: Any) -> None:
    for n in SIZES if target != "python" else SIZES[:3]:
        CHECKS[check](dtype, n)


@pytest.mark.exhaustive
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("n", [2**20, 2**24])
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_millions(target: str, check: str, dtype: Any, n: int) -> None:
    if target == "python":
        pytest.skip("the interpreter would take hours")
    if check == "scans" and dtype == ti.f32:
        values = stored(np.ones(n, np.float32), dtype)
        assert np.array_equal(ti.algorithms.scan(values).to_numpy(), np.arange(1, n + 1, dtype=np.float32))
        return
    CHECKS[check](dtype, n)


def check_tiled_selection(n: int, is_whole: bool) -> None:
    values, mask = np.arange(n, dtype=np.float64), (np.arange(n) % 3 == 1).astype(np.int64) << 40
    mask[4096:8192] = 0
    for chosen in (mask, np.zeros(n, np.int64), np.ones(n, np.int64)) if is_whole else (mask,):
        found = ti.algorithms.select(stored(values, ti.f64), stored(chosen, ti.i64))
        assert np.array_equal(found.to_numpy(), values[chosen != 0])
    if not is_whole:
        return
    first = library._Selection(stored(mask, ti.i64))
    assert first.count == np.count_nonzero(mask) and np.array_equal(first.positions().to_numpy(), np.flatnonzero(mask))


@pytest.mark.parametrize("op", library.OPERATIONS)
def test_reductions_in_the_type_of_the_elements(target: str, op: str) -> None:
    """Narrow types wrap; NaNs lose against numbers, and are the result where there is nothing else."""
    for dtype in (ti.i8, ti.f64):
        values = np.array([100, 3, 100, 7], dtype.numpy)
        function = {"add": np.sum, "mul": np.prod, "max": np.max, "min": np.min}[op]
        expected = function(values, **({"dtype": dtype.numpy} if op in ("add", "mul") else {}))
        assert ti.algorithms.reduce(stored(values, dtype), op) == expected
    if op in ("max", "min"):
        nan = np.full(5, np.nan, np.float32)
        assert np.isnan(ti.algorithms.reduce(stored(nan, ti.f32), op))
        nan[3] = 2
        assert ti.algorithms.reduce(stored(nan, ti.f32), op) == 2


@pytest.mark.targets("vulkan", "cuda")
def test_tiles_of_threads(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On lavapipe, too, where chunks are faster."""
    if target not in ("vulkan", "cuda"):
        pytest.skip("for GPUs")
    monkeypatch.setattr(library, "_runs_on_threads", lambda values: True)
    monkeypatch.setattr(cub, "takes", lambda values: False)
    check_scans(ti.f32, 4100)
    check_tiled_selection(8200, is_whole=False)


@pytest.mark.exhaustive
@pytest.mark.parametrize("n", [1, 4095, 4096, 4097, 70_001])
@pytest.mark.targets("vulkan", "cuda")
def test_selections_by_tiles(target: str, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if target not in ("vulkan", "cuda"):
        pytest.skip("for GPUs")
    monkeypatch.setattr(library, "_runs_on_threads", lambda values: True)
    check_tiled_selection(n, is_whole=True)


def test_parts_of_one_array(target: str) -> None:
    x = stored(np.arange(1, 9), ti.i32)
    ti.algorithms.scan(x[:6], out=x[2:])
    assert x.to_numpy().tolist() == [1, 2, 1, 3, 6, 10, 15, 21]
    ti.algorithms.scan(x[:3], out=x[:3], inclusive=False)
    assert x.to_numpy().tolist() == [0, 1, 3, 3, 6, 10, 15, 21]
    y = stored(np.array([3, 9, 1, 9, 2, 9]), ti.i32)
    ti.algorithms.parallel_sort(y[::2], y[1::2])
    assert y.to_numpy().tolist() == [1, 9, 2, 9, 3, 9]
    y[0] = 7
    ti.algorithms.parallel_sort(y[:4])
    assert y[0] == 2 and y.to_numpy().tolist() == [2, 7, 9, 9, 3, 9]


def test_fields_of_one_tree(target: str) -> None:
    a, b = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(a)
    ti.root.dense(ti.i, 4).place(b)
    c, d = ti.field(ti.i32), ti.field(ti.i32)
    ti.root.dense(ti.i, 4).place(c, d)  # one after the other in each cell
    for k, field in enumerate((a, b, c, d)):
        field.from_numpy(np.array([4, 1, 3, 2], np.int32) + 10 * k)
    ti.algorithms.scan(a, out=b)
    assert a.to_numpy().tolist() == [4, 1, 3, 2] and b.to_numpy().tolist() == [4, 5, 8, 10]
    ti.algorithms.parallel_sort(c, d)
    assert c.to_numpy().tolist() == [21, 22, 23, 24] and d.to_numpy().tolist() == [31, 32, 33, 34]
    ti.algorithms.parallel_sort(b, a)
    ti.algorithms.PrefixSumExecutor(4).run(d)
    assert d.to_numpy().tolist() == [31, 63, 96, 130] and a.to_numpy().tolist() == [4, 1, 3, 2]


@pytest.mark.all_targets
def test_cub_does_what_it_can_on_cuda(target: str) -> None:
    """Sorts, and scans of integers; our own kernels where its results would differ, and while launches are recorded."""
    x, y = stored(np.array([3, 1, 2]), ti.i32), stored(np.array([3.0, 1.0, 2.0]), ti.f32)
    on_cuda = target == "cuda"
    assert cub.sort(x) is cub.sort(y) is on_cuda
    assert cub.scan(x, x, "add", True) is on_cuda and not cub.scan(y, y, "add", True)
    assert not cub.scan(x, x, "max", True)
    y[1] = float("nan")
    assert not cub.sort(y)


def test_mistakes_name_what_is_needed() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.ndarray(ti.i32, 3)
    with pytest.raises(ti.TaichiTypeError, match="numbers with one axis, found"):
        ti.algorithms.reduce(ti.ndarray(ti.f32, (2, 2)))
    with pytest.raises(ti.TaichiTypeError, match="numbers with one axis, found"):
        ti.algorithms.parallel_sort(np.zeros(3))
    with pytest.raises(ti.TaichiTypeError, match="no operation 'sub'"):
        ti.algorithms.scan(x, op="sub")
    with pytest.raises(ti.TaichiTypeError, match="takes 4 elements, found 3"):
        ti.algorithms.PrefixSumExecutor(4).run(x)
    with pytest.raises(ti.TaichiTypeError, match="2 values cannot be sorted by 3 keys"):
        ti.algorithms.parallel_sort(x, ti.ndarray(ti.i32, 2))
    with pytest.raises(ValueError, match="no max"):
        ti.algorithms.reduce(ti.ndarray(ti.f32, 0), "max")
    with pytest.raises(ValueError, match="low < high"):
        ti.algorithms.histogram(x, 3, 1, 1)
