"""Subgroups and warps: every function against a model that knows nothing but lists of lanes, on every target."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

B = 64
warp, subgroup = ti.simt.warp, ti.simt.subgroup
FOLDS: dict[str, Callable[[Any, Any], Any]] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: a * b,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
START = {"add": 0, "mul": 1, "and": -1, "or": 0, "xor": 0}
ALL = 0xFFFFFFFF


def lanes() -> int:
    return sessions.CURRENT.device.capabilities.subgroup_size


def groups(values: np.ndarray) -> list[list[Any]]:
    """Cut an array into subgroups; the last one of a block, and of the array, may be shorter."""
    blocks = [values[k : k + B] for k in range(0, len(values), B)]
    return [list(block[k : k + lanes()]) for block in blocks for k in range(0, len(block), lanes())]


def apply(function: Callable[..., Any], a: np.ndarray, result: Any, *extra: Any) -> np.ndarray:
    """Run `function(a[i], *extra)` in each thread."""

    @ti.kernel
    def run(a: ti.types.ndarray(), out: ti.types.ndarray()):
        ti.loop_config(block_dim=B)
        for i in a:
            out[i] = function(a[i], *extra)

    out = np.zeros(len(a), result.numpy)
    run(a, out)
    return out


@ti.func
def leads(x):
    return subgroup.elect()


def numbers(dtype: Any, n: int, low: int = -3, high: int = 4) -> np.ndarray:
    low = max(low, 0) if dtype.kind == "uint" else low
    return np.random.default_rng(n).integers(low, high, n).astype(dtype.numpy)


def model(a: np.ndarray, each: Callable[[list[Any], int], Any]) -> list[Any]:
    return [each(group, lane) for group in groups(a) for lane in range(len(group))]


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("n", [1, 64, 100])
@pytest.mark.parametrize("name", FOLDS)
def test_reductions_and_scans_of_i32(target: str, name: str, n: int) -> None:
    fold = FOLDS[name]
    a = numbers(ti.i32, n)
    start = START.get(name, 2**31 - 1 if name == "min" else -(2**31))
    found = apply(getattr(subgroup, f"reduce_{name}"), a, ti.i32)
    assert found.tolist() == model(a, lambda g, k: _wrap(reduce(fold, map(int, g))))
    found = apply(getattr(subgroup, f"inclusive_{name}"), a, ti.i32)
    assert found.tolist() == model(a, lambda g, k: _wrap(reduce(fold, map(int, g[: k + 1]))))
    found = apply(getattr(subgroup, f"exclusive_{name}"), a, ti.i32)
    assert found.tolist() == model(a, lambda g, k: _wrap(reduce(fold, map(int, g[:k]), start)))


def _wrap(value: int) -> int:
    return (value + 2**31) % 2**32 - 2**31


@pytest.mark.sampled(2, each="name")
@pytest.mark.parametrize("dtype", ["u32", "f32", "i64", "f64"])
@pytest.mark.parametrize("name", ["add", "mul", "min", "max"])
def test_reductions_and_scans_of_other_types(target: str, dtype: str, name: str) -> None:
    kind, fold = getattr(ti, dtype), FOLDS[name]
    a = numbers(kind, 80, 1, 3)
    found = apply(getattr(subgroup, f"reduce_{name}"), a, kind)
    assert found.tolist() == model(a, lambda g, k: _in(kind, reduce(fold, map(int, g))))
    found = apply(getattr(subgroup, f"inclusive_{name}"), a, kind)
    assert found.tolist() == model(a, lambda g, k: _in(kind, reduce(fold, map(int, g[: k + 1]))))
    found = apply(getattr(subgroup, f"exclusive_{name}"), a, kind)
    limits = np.iinfo(kind.numpy) if kind.is_integral else None
    ends = {"min": limits.max if limits else float("inf"), "max": limits.min if limits else float("-inf")}
    start = START.get(name, ends.get(name))
    assert found.tolist() == model(a, lambda g, k: _in(kind, reduce(fold, map(int, g[:k]), start)))


def _in(kind: Any, value: Any) -> Any:
    return float(value) if kind.is_float else int(value) % 2**kind.bits if kind.kind == "uint" else int(value)


def test_votes_and_elections(target: str) -> None:
    a = numbers(ti.i32, 130, 0, 2)
    a[:B] = 1
    assert apply(subgroup.all_true, a, ti.i32).tolist() == model(a, lambda g, k: int(all(g)))
    assert apply(subgroup.any_true, a - 1, ti.i32).tolist() == model(a - 1, lambda g, k: int(any(g)))
    assert apply(subgroup.all_equal, a, ti.i32).tolist() == model(a, lambda g, k: int(len(set(g)) == 1))
    assert apply(subgroup.broadcast_first, a, ti.i32).tolist() == model(a, lambda g, k: g[0])
    assert apply(leads, a, ti.i32).tolist() == model(a, lambda g, k: int(k == 0))


def test_shuffles(target: str) -> None:
    a = np.random.default_rng(2).random(128).astype(np.float32)
    size = lanes()
    found = apply(subgroup.shuffle, a, ti.f32, 3)
    assert found.tolist() == model(a, lambda g, k: g[3])
    found = apply(subgroup.broadcast, a, ti.f32, 2)
    assert found.tolist() == model(a, lambda g, k: g[2])
    for distance in (0, 1, 3, size - 1):
        found = apply(subgroup.shuffle_up, a, ti.f32, distance)
        assert found.tolist() == model(a, lambda g, k: g[k - distance] if k >= distance else g[k])
        found = apply(subgroup.shuffle_down, a, ti.f32, distance)
        assert found.tolist() == model(a, lambda g, k: g[k + distance] if k + distance < size else g[k])
        found = apply(subgroup.shuffle_xor, a, ti.f32, distance)
        assert found.tolist() == model(a, lambda g, k: g[k ^ distance])


def test_shuffle_by_a_lane_of_its_own(target: str) -> None:
    @ti.kernel
    def reverse(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=B)
        for i in a:
            lane = subgroup.invocation_id()
            a[i] = subgroup.shuffle(a[i], subgroup.group_size() - 1 - lane) * 100 + lane

    a = np.arange(2 * B, dtype=np.int32)
    expected = model(a.copy(), lambda g, k: g[lanes() - 1 - k] * 100 + k)
    reverse(a)
    assert a.tolist() == expected


def test_all_functions_of_warps(target: str) -> None:
    a = numbers(ti.i32, 128, 0, 3)
    a[:B] = np.arange(B) // 4
    size = lanes()
    full = (1 << size) - 1

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        ti.loop_config(block_dim=B)
        for i in a:
            mask = ti.u32(ALL)
            x = a[i]
            out[0, i] = warp.all_nonzero(mask, x)
            out[1, i] = warp.any_nonzero(mask, x > 1)
            out[2, i] = warp.unique(mask, x)
            out[3, i] = warp.ballot(x)
            out[4, i] = warp.shfl_sync_i32(mask, x, 5)
            out[5, i] = warp.shfl_up_i32(mask, x, 2)
            out[6, i] = warp.shfl_down_i32(mask, x, 2)
            out[7, i] = warp.shfl_xor_i32(mask, x, 3)
            out[8, i] = int(warp.shfl_sync_f32(mask, x * 0.5, 1) * 2)
            out[9, i] = int(warp.shfl_up_f32(mask, x * 0.5, 1) * 2)
            out[10, i] = int(warp.shfl_down_f32(mask, x * 0.5, 1) * 2)
            out[11, i] = warp.match_any(mask, x)
            out[12, i] = warp.match_all(mask, x // 100)
            out[13, i] = warp.match_all(mask, x)
            out[14, i] = warp.active_mask()
            warp.sync(mask)

    out = np.zeros((15, len(a)), np.int32)
    run(a, out)
    bits = lambda g, test: sum(1 << k for k, x in enumerate(g) if test(x))  # noqa: E731
    expected = [
        lambda g, k: int(all(g)),
        lambda g, k: int(any(x > 1 for x in g)),
        lambda g, k: int(len({x != 0 for x in g}) == 1),
        lambda g, k: bits(g, lambda x: x),
        lambda g, k: g[5],
        lambda g, k: g[k - 2] if k >= 2 else g[k],
        lambda g, k: g[k + 2] if k + 2 < size else g[k],
        lambda g, k: g[k ^ 3],
        lambda g, k: g[1],
        lambda g, k: g[k - 1] if k >= 1 else g[k],
        lambda g, k: g[k + 1] if k + 1 < size else g[k],
        lambda g, k: bits(g, lambda x: x == g[k]),
        lambda g, k: full,
        lambda g, k: full if len(set(g)) == 1 else 0,
        lambda g, k: full,
    ]
    for row, each in enumerate(expected):
        assert out[row].tolist() == [_wrap(int(value)) for value in model(a, each)], row


@pytest.mark.targets("cpu", "cuda", "python")
def test_reduction_of_a_block_by_its_subgroups(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=256)
        for i in a:
            parts = ti.simt.block.SharedArray(64, ti.i32)
            t = ti.simt.block.thread_idx()
            size = subgroup.group_size()
            s = subgroup.reduce_add(a[i])
            if subgroup.elect():
                parts[t // size] = s
            ti.simt.block.sync()
            if t < 256 // size:
                total = parts[t]
                if t < size:
                    total = subgroup.reduce_add(total)
                parts[t] = total
            ti.simt.block.sync()
            if t == 0:
                total = 0
                for k in range((256 // size + size - 1) // size):
                    total += parts[k * size]
                    break
                out[i // 256] = total

    if target == "vulkan":
        pytest.skip("the second step takes 8 of the 32 parts there")
    a = numbers(ti.i32, 512, -100, 100)
    out = np.zeros(2, np.int32)
    run(a, out)
    assert out.tolist() == [a[:256].sum(), a[256:].sum()]


def test_lanes_that_part_answer_for_themselves(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=B)
        for i in a:
            x = a[i]
            y = 1000
            if x > 0:
                y = subgroup.reduce_add(x)
                if x > 2:
                    y += 100 * subgroup.reduce_max(x)
            else:
                y -= subgroup.reduce_add(1)
            out[i] = y

    a = numbers(ti.i32, 100, -2, 5)
    out = np.zeros_like(a)
    run(a, out)

    def each(g: list[int], k: int) -> int:
        above, below = [x for x in g if x > 0], [x for x in g if x <= 0]
        if g[k] <= 0:
            return 1000 - len(below)
        return sum(above) + (100 * max(g) if g[k] > 2 else 0)

    assert out.tolist() == model(a, each)


def test_subgroup_in_a_loop_of_equal_turns(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32):
        ti.loop_config(block_dim=B)
        for i in a:
            x = a[i]
            for k in range(n):
                x = subgroup.shuffle_xor(x, 1 << k) + k
            subgroup.barrier()
            subgroup.memory_barrier()
            a[i] = x

    a = np.arange(128, dtype=np.int32)
    expected = [(v ^ 7) + 3 for v in range(128)]
    run(a, 3)
    assert a.tolist() == expected


@pytest.mark.parametrize("n", [5, 33, 40])
def test_block_size_that_is_no_multiple_of_a_subgroup(target: str, n: int) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=n)
        for i in a:
            a[i] = subgroup.reduce_add(a[i])

    a = np.arange(2 * n, dtype=np.int32)
    size = lanes()
    expected = [
        int(part.sum())
        for block in (a[:n].copy(), a[n:].copy())
        for k in range(0, n, size)
        for part in [block[k : k + size]]
        for _ in part
    ]
    run(a)
    assert a.tolist() == expected
