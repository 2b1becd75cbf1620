"""`ti.loop_config`, and hints that change no result; texts that only this machine's compilers can check for CUDA."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.session import session as sessions


def test_serialized_loop_counts_in_order_on_every_target(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32) -> ti.i32:
        last = 0
        ti.loop_config(serialize=True)
        for i in range(n):
            a[i] = last * 3 + i
            last = a[i] % 7
        return last

    a = np.zeros(20, np.int32)
    last, expected = 0, []
    for i in range(20):
        expected.append(last * 3 + i)
        last = expected[-1] % 7
    assert run(a, 20) == last
    assert a.tolist() == expected


def test_one_thread_of_the_host_is_a_serial_loop(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(parallelize=1)
        for i in range(1, 10):
            a[i] = a[i - 1] + i

    a = np.zeros(10, np.int32)
    run(a)
    assert a.tolist() == np.cumsum(np.arange(10)).tolist()


def test_threads_of_the_host_stand_in_the_pragma() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(parallelize=3, block_dim_adaptive=False)
        for i in a:
            a[i] += 1

    a = np.zeros(10000, np.int32)
    run(a)
    assert (a == 1).all()
    assert "num_threads(3)" in run.source(a)
    assert "num_threads" not in run.source(a, arch=ti.cuda)


def test_options_bind_to_the_next_loop_only() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=32)
        for i in a:
            a[i] += 1
        for i in a:
            a[i] += 1

    source = run.source(np.zeros(4, np.int32), arch=ti.cuda)
    assert re.findall(r"#define (BLOCK.*)", source) == ["BLOCK 32", "BLOCK_1 128"]


def test_hints_about_caches_change_nothing(target: str) -> None:
    field = ti.field(ti.i32, 16)

    @ti.kernel
    def run():
        ti.block_local(field)
        ti.cache_read_only(field)
        for i in field:
            field[i] = i

    run()
    assert field.to_numpy().tolist() == list(range(16))


def test_size_of_a_subgroup_is_that_of_the_device(target: str) -> None:
    @ti.kernel
    def run(out: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=64)
        for i in out:
            out[i] = ti.simt.subgroup.group_size()

    out = np.zeros(64, np.int32)
    run(out)
    assert set(out.tolist()) == {sessions.CURRENT.device.capabilities.subgroup_size}


def test_full_blocks_need_no_condition() -> None:
    ti.init(arch=ti.cpu, log_level=ti.WARN)

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=64)
        for i in range(640):
            tile = ti.simt.block.SharedArray(64, ti.i32)
            tile[i % 64] = a[i]
            ti.simt.block.sync()
            a[i] = tile[63 - i % 64]

    a = np.arange(640, dtype=np.int32)
    for arch, barrier in ((ti.vulkan, "barrier();"), (ti.cuda, "__syncthreads();")):
        source = run.source(a, arch=arch)
        assert "has_iteration" not in source and source.count(barrier) == 1
    run(a)
    assert a.tolist() == np.arange(640).reshape(-1, 64)[:, ::-1].ravel().tolist()


def test_warps_of_more_than_32_lanes_are_refused() -> None:
    from dataclasses import replace

    ti.init(arch=ti.python, log_level=ti.ERROR)
    device = sessions.CURRENT.device
    device.capabilities = replace(device.capabilities, subgroup_size=64)

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in a:
            a[i] = ti.simt.warp.ballot(a[i])

    with pytest.raises(ti.UnsupportedError, match="subgroups of this device have 64"):
        run(np.zeros(4, np.int32))


def test_what_subgroups_of_a_device_lack_is_refused_by_name() -> None:
    from dataclasses import replace

    ti.init(arch=ti.python, log_level=ti.ERROR)
    device = sessions.CURRENT.device
    device.capabilities = replace(device.capabilities, subgroup_features=frozenset({"basic"}))

    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        for i in a:
            a[i] = ti.simt.subgroup.reduce_add(a[i])

    with pytest.raises(ti.UnsupportedError, match="subgroups lack `arithmetic`"):
        run(np.zeros(4, np.int32))


def test_names_of_the_language_of_threads_stay_free_for_variables(target: str) -> None:
    @ti.kernel
    def run(a: ti.types.ndarray(dtype=ti.i32, ndim=1)):
        ti.loop_config(block_dim=32)
        for i in a:
            tile = ti.simt.block.SharedArray(32, ti.i32)
            thread, threads, block, count, lanes, has_iteration, index = 1, 2, 3, 4, 5, 6, 7
            barrier, reduce_add, BLOCK, shared = 8, 9, 10, 11
            tile[i % 32] = a[i]
            ti.simt.block.sync()
            total = ti.simt.subgroup.reduce_add(1) * 0
            a[i] = tile[i % 32] + thread + threads + block + count + lanes + has_iteration + index + total
            a[i] += barrier + reduce_add + BLOCK + shared

    a = np.arange(40, dtype=np.int32)
    run(a)
    assert a.tolist() == list(range(66, 106))


def test_taichi_scope_functions_are_refused_in_python_scope() -> None:
    for call in (ti.simt.block.sync, ti.simt.subgroup.elect, ti.global_thread_idx):
        with pytest.raises(AssertionError, match="cannot be called in Python-scope"):
            call()
    with pytest.raises(AssertionError, match="SharedArray"):
        ti.simt.block.SharedArray(4, ti.f32)
