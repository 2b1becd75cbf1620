"""Every function of `ti.simt`, once on every target, by two tables: a function without a row here fails.

The other tests of this folder look at edges; `make test` leaves some of their cases out on each target.
"""

from __future__ import annotations

from functools import reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions

B = 64
block, grid, subgroup, warp = ti.simt.block, ti.simt.grid, ti.simt.subgroup, ti.simt.warp
FOLDS: dict[str, Any] = {
    "add": lambda a, b: a + b,
    "mul": lambda a, b: (a * b + 2**31) % 2**32 - 2**31,
    "min": min,
    "max": max,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "xor": lambda a, b: a ^ b,
}
NEUTRAL = {"add": 0, "mul": 1, "min": 2**31 - 1, "max": -(2**31), "and": -1, "or": 0, "xor": 0}


def folds(function: str, name: str) -> Any:
    """Return the model of a fold: what lane k of a subgroup with the values g gets."""
    fold, neutral = FOLDS[name], NEUTRAL[name]
    return {
        "reduce": lambda g, k: reduce(fold, g),
        "inclusive": lambda g, k: list(accumulate(g, fold))[k],
        "exclusive": lambda g, k: reduce(fold, g[:k], neutral),
    }[function]


MASK = (ti.u32(0xFFFFFFFF),)
OF_SUBGROUP: dict[str, tuple[Any, ...]] = {
    "elect": (None, (), lambda g, k: k == 0),
    "group_size": (None, (), lambda g, k: len(g)),
    "invocation_id": (None, (), lambda g, k: k),
    "all_true": ((), (), lambda g, k: all(g)),
    "any_true": ((), (), lambda g, k: any(g)),
    "all_equal": ((), (), lambda g, k: len(set(g)) == 1),
    "broadcast_first": ((), (), lambda g, k: g[0]),
    "broadcast": ((), (1,), lambda g, k: g[1]),
    "shuffle": ((), (2,), lambda g, k: g[2]),
    "shuffle_xor": ((), (1,), lambda g, k: g[k ^ 1]),
    "shuffle_up": ((), (1,), lambda g, k: g[max(k - 1, 0)]),
    "shuffle_down": ((), (1,), lambda g, k: g[min(k + 1, len(g) - 1)]),
    **{f"{kind}_{op}": ((), (), folds(kind, op)) for kind in ("reduce", "inclusive", "exclusive") for op in FOLDS},
}  # fmt: skip
"""Arguments before and behind the value of a lane, None for functions without arguments; the model of the result."""

OF_WARP: dict[str, tuple[Any, ...]] = {
    "active_mask": (None, (), lambda g, k: bits(g, lambda v: True)),
    "ballot": ((), (), lambda g, k: bits(g, lambda v: v != 0)),
    "all_nonzero": (MASK, (), lambda g, k: all(g)),
    "any_nonzero": (MASK, (), lambda g, k: any(g)),
    "unique": (MASK, (), lambda g, k: len({v != 0 for v in g}) == 1),
    "match_any": (MASK, (), lambda g, k: bits(g, lambda v: v == g[k])),
    "match_all": (MASK, (), lambda g, k: bits(g, lambda v: True) if len(set(g)) == 1 else 0),
    "shfl_xor_i32": (MASK, (1,), lambda g, k: g[k ^ 1]),
    **{f"shfl_sync_{dtype}": (MASK, (2,), lambda g, k: g[2]) for dtype in ("i32", "f32")},
    **{f"shfl_up_{dtype}": (MASK, (1,), lambda g, k: g[max(k - 1, 0)]) for dtype in ("i32", "f32")},
    **{f"shfl_down_{dtype}": (MASK, (1,), lambda g, k: g[min(k + 1, len(g) - 1)]) for dtype in ("i32", "f32")},
}  # fmt: skip

BARRIERS = {"subgroup": {"barrier", "memory_barrier"}, "warp": {"sync"}}
"""Functions without a value; each kernel below calls them."""


def bits(g: list[int], test: Any) -> int:
    return sum(1 << k for k, v in enumerate(g) if test(v))


def functions_of(module: Any) -> set[str]:
    return {name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__}


@pytest.mark.parametrize(("module", "table"), [("subgroup", OF_SUBGROUP), ("warp", OF_WARP)], ids=["subgroup", "warp"])
def test_every_function_of_lanes(target: str, module: str, table: dict[str, tuple[Any, ...]]) -> None:
    assert functions_of(getattr(ti.simt, module)) == {*table, *BARRIERS[module]}
    rows = [(getattr(getattr(ti.simt, module), name), before, after) for name, (before, after, _) in table.items()]

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        ti.loop_config(block_dim=B)
        for i in a:
            for k, row in ti.static(enumerate(rows)):
                if ti.static(row[1] is None):
                    out[k, i] = ti.cast(row[0](), ti.i32)
                else:
                    out[k, i] = ti.cast(row[0](*row[1], a[i], *row[2]), ti.i32)
            warp.sync(ti.u32(0xFFFFFFFF))
            subgroup.barrier()
            subgroup.memory_barrier()

    a = np.random.default_rng(1).integers(0, 4, 2 * B).astype(np.int32)
    a[:B] = 3
    out = np.zeros((len(table), len(a)), np.int32)
    run(a, out)
    size = sessions.CURRENT.device.capabilities.subgroup_size
    groups = [a[k : k + size].tolist() for k in range(0, len(a), size)]
    for row, (name, (_, _, each)) in enumerate(table.items()):
        expected = [(int(each(g, k)) + 2**31) % 2**32 - 2**31 for g in groups for k in range(size)]
        assert out[row].tolist() == expected, name


def test_every_function_of_blocks_and_grids(target: str) -> None:
    called = {"SharedArray", "global_thread_idx", "mem_sync", "sync", "sync_all_nonzero", "sync_any_nonzero"}
    assert functions_of(block) == {*called, "sync_count_nonzero", "thread_idx"}
    assert functions_of(grid) == {"memfence"}

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), out: ti.types.ndarray(dtype=ti.i32, ndim=2)):
        ti.loop_config(block_dim=B)
        for i in a:
            shared = block.SharedArray(B, ti.i32)
            t = block.thread_idx()
            shared[t] = a[i]
            block.sync()
            out[0, i] = shared[B - 1 - t]
            block.mem_sync()
            out[1, i] = block.global_thread_idx() - t
            out[2, i] = block.sync_all_nonzero(a[i])
            out[3, i] = block.sync_any_nonzero(a[i] > 2)
            out[4, i] = block.sync_count_nonzero(a[i] == 1)
            grid.memfence()

    a = np.random.default_rng(2).integers(0, 4, 3 * B).astype(np.int32)
    a[B : 2 * B] = 1
    out = np.zeros((5, len(a)), np.int32)
    run(a, out)
    parts = a.reshape(3, B)
    rows = (parts.all(1), (parts > 2).any(1), (parts == 1).sum(1))
    assert out[0].tolist() == parts[:, ::-1].ravel().tolist()
    assert out[1].tolist() == np.repeat([0, B, 2 * B], B).tolist()
    assert [out[k + 2].tolist() for k in range(3)] == [np.repeat(row.astype(int), B).tolist() for row in rows]
