"""Launches that are waited for one by one are submitted from command buffers recorded before; results stay the same."""

from __future__ import annotations

import gc
import os
import sys
import threading

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import lone_launches
from shadesmith.runtime.session import session as sessions


@pytest.fixture
def queue():
    try:
        ti.init(arch=ti.vulkan, enable_fallback=False, log_level="error")
    except Exception as error:
        pytest.skip(str(error))
    yield sessions.current().device._queue
    ti.reset()


@ti.kernel
def add(x: ti.types.ndarray(ti.i32, 1), k: ti.i32):
    for i in x:
        x[i] += k


@ti.kernel
def double(x: ti.types.ndarray(ti.i32, 1)):
    for i in x:
        x[i] *= 2


def test_launches_that_repeat_are_not_recorded(queue) -> None:
    x = ti.ndarray(ti.i32, 10)
    recorded = []
    for _ in range(3 * lone_launches.REPEATS):
        add(x, 1)
        recorded.append(queue.lone is None)
        ti.sync()
        assert queue.lone is None and queue.is_idle
    assert recorded == [True] * (lone_launches.REPEATS - 1) + [False] * (2 * lone_launches.REPEATS + 1)
    assert (x.to_numpy() == 3 * lone_launches.REPEATS).all()


def test_what_follows_such_a_launch_comes_after_it(queue) -> None:
    x, y = ti.ndarray(ti.i32, 10), ti.ndarray(ti.i32, 10)
    for _ in range(10):
        add(x, 1)
        ti.sync()
    add(x, 1)
    assert queue.lone is not None
    add(x, 2)  # the same program, with other arguments
    assert queue.lone is None
    double(x)
    assert (x.to_numpy() == 26).all()
    add(x, 1)
    y.copy_from(x)
    x.fill(3)
    assert (y.to_numpy() == 27).all() and (x.to_numpy() == 3).all()
    add(x, 1)
    x[0] = 100
    assert x.to_numpy().tolist() == [100] + [4] * 9
    add(x, 1)
    assert x[1] == 5
    add(x, 1)
    x.from_numpy(np.arange(10, dtype=np.int32))
    assert x.to_numpy().tolist() == list(range(10))
    add(x, 1)
    ti.sync()
    builder = ti.graph.GraphBuilder()
    builder.dispatch(double, ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.i32, ndim=1))
    graph = builder.compile()
    for _ in range(3):
        add(x, 1)
        graph.run({"x": x})
    assert x.to_numpy().tolist() == [((i + 2) * 2 + 1) * 4 + 2 for i in range(10)]


def test_random_sequences(queue) -> None:
    random = np.random.default_rng(3)
    x, expected = ti.ndarray(ti.i32, 7), np.zeros(7, np.int64)
    for _ in range(600):
        what = random.integers(0, 12)
        if what < 5:
            add(x, 1)
            expected += 1
        elif what == 5:
            double(x)
            expected *= 2
        elif what == 6:
            k = int(random.integers(-3, 3))
            add(x, k)
            expected += k
        elif what == 7:
            x.fill(int(k := random.integers(5)))
            expected[:] = k
        elif what == 8:
            assert x.to_numpy().tolist() == expected.astype(np.int32).tolist()
        else:
            ti.sync()
        expected = expected.astype(np.int32).astype(np.int64)
    assert x.to_numpy().tolist() == expected.tolist()


def test_a_kernel_may_die_before_its_launch_is_submitted(queue) -> None:
    x = ti.field(ti.i32, 5)

    def run() -> None:
        @ti.kernel
        def once():
            for i in x:
                x[i] += 1

        for _ in range(10):
            once()
            ti.sync()
        once()

    run()
    gc.collect()
    assert queue.lone is not None
    ti.sync()
    assert (x.to_numpy() == 11).all()


def test_long_arguments_and_large_launches(queue) -> None:
    x = ti.field(ti.f32, 1 << 20)

    @ti.kernel
    def put(m: ti.types.matrix(6, 6, ti.f32)):
        for i in x:
            x[i] += m[i % 6, 5]

    value = ti.Matrix([[float(i * 6 + j) for j in range(6)] for i in range(6)])
    for _ in range(10):
        put(value)
        assert queue.lone is None  # it starts at once, on a device that is not busy
        ti.sync()
    assert x[2] == 170.0 and x[(1 << 20) - 1] == 10 * value[((1 << 20) - 1) % 6, 5]


def test_threads(queue) -> None:
    arrays = [ti.ndarray(ti.i32, 10) for _ in range(4)]

    def work(x) -> None:
        for _ in range(100):
            add(x, 1)
            ti.sync()

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all((x.to_numpy() == 100).all() for x in arrays)


def test_launches_that_never_repeat_are_not_looked_at_for_ever(queue) -> None:
    x = ti.ndarray(ti.i32, 3)
    for k in range(2 * lone_launches.MOST_SEEN):
        add(x, k)
        ti.sync()
    for _ in range(10):
        add(x, 1)
        assert queue.lone is None
        ti.sync()
    assert x[0] == sum(range(2 * lone_launches.MOST_SEEN)) + 10


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_child_does_not_submit_it(queue) -> None:
    x = ti.ndarray(ti.i32, 3)
    for _ in range(10):
        add(x, 1)
        ti.sync()
    add(x, 1)
    child = os.fork()
    if child == 0:
        try:
            ti.sync()
        except ti.TaichiRuntimeError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert x[0] == 11
