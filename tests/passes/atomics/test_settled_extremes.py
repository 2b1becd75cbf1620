"""Pass `settled_extremes`: GPUs compare before an atomic minimum or maximum that may change nothing."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # elsewhere the pass returns at once

N = 5000


def make(dtype, groups: int):
    Group = ti.types.struct(count=ti.i32, least=dtype, most=dtype)
    g = Group.field(shape=groups)
    g.least.fill(100)
    g.most.fill(0 if dtype is ti.u32 else -100)
    key, value = ti.field(ti.i32, N), ti.field(dtype, N)
    rng = np.random.default_rng(groups)
    key.from_numpy(rng.integers(0, groups, N).astype(np.int32))
    value.from_numpy(rng.integers(0 if dtype in (ti.u32, ti.u64) else -99, 99, N))

    @ti.kernel
    def gather():
        for i in key:
            k = key[i]
            g[k].count += 1
            ti.atomic_min(g[k].least, value[i])
            ti.atomic_max(g[k].most, value[i])

    return gather, key, value, g


@pytest.mark.sampled(2)
@pytest.mark.parametrize("groups", [1, 3, 700])
@pytest.mark.parametrize("dtype", [ti.i32, ti.u32, ti.i64, ti.f32])
def test_values(target: str, dtype, groups: int) -> None:
    if target == "vulkan" and dtype is ti.i64:
        pytest.skip("lavapipe has no atomic operations on i64")
    gather, key, value, g = make(dtype, groups)
    gather()
    key, value = key.to_numpy(), value.to_numpy()
    for k in range(groups):
        own = value[key == k]
        assert g[k].count == len(own)
        assert g[k].least == min(own, default=100)
        assert g[k].most == max(own, default=-100 if dtype is not ti.u32 else 0)


def test_sources() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = make(ti.i32, 8)[0].source(arch=ti.cuda)
    assert "if (value_i < g(k).least) {\n        atomicMin(&g(k).least, value_i);" in text
    assert "if (value_i > g(k).most) {\n        atomicMax(&g(k).most, value_i);" in text
    assert "if" not in make(ti.i32, 8)[0].source(arch=ti.cpu).split("key_i")[-1].split("}")[0]
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-settled_extremes")
    assert "value_i < g(k)" not in make(ti.i32, 8)[0].source(arch=ti.cuda)


def test_what_stays() -> None:
    """A result that is used, elements that rise, too."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    h, old, key = ti.field(ti.i32, 9000), ti.field(ti.i32, N), ti.field(ti.i32, N)

    @ti.kernel
    def use():
        for i in key:
            old[i] = ti.atomic_min(h[key[i]], i)

    @ti.kernel
    def rise():
        for i in key:
            ti.atomic_min(h[key[i]], i)
            h[i] = 7

    @ti.kernel
    def both():
        for i in key:
            ti.atomic_min(h[key[i]], i)
            ti.atomic_max(h[key[i] + 1], i)

    for kernel in (use, rise, both):
        assert "if (i <" not in kernel.source(arch=ti.cuda)

    @ti.kernel
    def two(h: ti.types.ndarray(ti.i32, 1), g: ti.types.ndarray(ti.i32, 1)):
        for i in key:
            ti.atomic_min(h[key[i]], i)
            ti.atomic_max(g[key[i]], i)

    array = np.zeros(9000, np.int32)  # may be one under two names
    assert "if (i <" not in two.source(array, array, arch=ti.cuda)
