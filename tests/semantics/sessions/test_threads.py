"""Threads of one program launch kernels and read arrays: each sees its own arguments and results."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import device as vulkan
from shadesmith.runtime.session import session as sessions

ROUNDS = {"cpu": 300, "vulkan": 60, "cuda": 300, "python": 20}


@pytest.fixture(params=[False, True], ids=["", "mirrored"])
def mirrored(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, target: str) -> bool:
    """Once more on a Vulkan device whose memory the host cannot see."""
    if request.param:
        if target != "vulkan":
            pytest.skip("memory of this device is as it is")
        open_device = partial(vulkan.open_device, force_staging=True)
        monkeypatch.setitem(sessions.OPENERS, "vulkan", lambda config, software: open_device(allow_software=software))
        ti.init(arch=ti.vulkan, log_level=ti.WARN)
        assert not sessions.current().device.host_memory
    return request.param


def run_threads(work: Callable[[int], None], count: int = 4) -> None:
    """Run `work(number)` in as many threads, and raise what the first that failed raised."""
    errors: list[BaseException] = []
    start = threading.Barrier(count)

    def run(number: int) -> None:
        start.wait()
        try:
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_one_kernel_with_arguments_of_its_own_in_each_thread(target: str, mirrored: bool) -> None:
    @ti.kernel
    def store(x: ti.types.ndarray(dtype=ti.i32, ndim=1), value: ti.i32, more: ti.f64):
        for i in x:
            x[i] = x[i] + value + ti.cast(more, ti.i32)

    arrays = [ti.ndarray(ti.i32, 8 + number) for number in range(4)]

    def work(number: int) -> None:
        for turn in range(ROUNDS[target]):
            store(arrays[number], 10**number, turn)

    run_threads(work)
    turns = sum(range(ROUNDS[target]))
    for number, x in enumerate(arrays):
        assert x.to_numpy().tolist() == [ROUNDS[target] * 10**number + turns] * (8 + number)


def test_results_reach_the_thread_that_asked(target: str, mirrored: bool) -> None:
    @ti.kernel
    def double(value: ti.i32) -> ti.i32:
        return value * 2

    @ti.kernel
    def total(x: ti.types.ndarray(dtype=ti.i64, ndim=1)) -> ti.i64:
        found = ti.i64(0)
        for i in x:
            found += x[i]
        return found

    def work(number: int) -> None:
        x = np.full(100 + number, number, np.int64)
        for turn in range(ROUNDS[target] // 10):
            assert double(1000 * number + turn) == 2 * (1000 * number + turn)
            assert total(x) == number * (100 + number)

    run_threads(work)


def test_kernels_are_compiled_once_though_threads_race(target: str) -> None:
    x = ti.field(ti.i32, shape=4)

    @ti.kernel
    def add(k: ti.template()):
        for _ in range(1):
            ti.atomic_add(x[k], 1)

    before = sessions.current().compiled_functions

    def work(number: int) -> None:
        for k in range(4):
            add(k)

    run_threads(work)
    assert x.to_numpy().tolist() == [4] * 4
    assert sessions.current().compiled_functions - before == 4


def test_elements_are_read_and_written_while_others_launch(target: str, mirrored: bool) -> None:
    counters = [ti.field(ti.i32, shape=(3, 2)) for _ in range(4)]
    noise = ti.ndarray(ti.f32, 64)

    @ti.kernel
    def stir(x: ti.types.ndarray(dtype=ti.f32, ndim=1), by: ti.f32):
        for i in x:
            x[i] += by

    def work(number: int) -> None:
        mine = counters[number]
        for turn in range(ROUNDS[target] // 3):
            if number % 2:
                stir(noise, 1.0)
            mine[turn % 3, 1] += 1
            mine[0, 0] = mine[1, 1] + mine[0, 1] + mine[2, 1]
            assert mine[0, 0] == turn + 1

    run_threads(work)
    ti.sync()
    assert noise[63] == 2 * (ROUNDS[target] // 3)


def test_a_shared_field_loses_nothing(target: str, mirrored: bool) -> None:
    shared = ti.field(ti.i32, shape=4)
    touched = ti.ndarray(ti.i32, 4)

    @ti.kernel
    def touch(x: ti.types.ndarray(dtype=ti.i32, ndim=1), at: ti.i32):
        x[at] += shared[at]

    def work(number: int) -> None:
        for turn in range(ROUNDS[target] // 3):
            shared[number] = turn
            touch(touched, number)
            assert shared[number] == turn

    run_threads(work)
    assert touched.to_numpy().tolist() == [sum(range(ROUNDS[target] // 3))] * 4


def test_prints_and_checks_of_threads(target: str, capfd: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)

    @ti.kernel
    def check(number: ti.i32, limit: ti.i32):
        assert number < limit, "number"
        print(number)

    def work(number: int) -> None:
        for turn in range(10):
            check(number, 100)
            with pytest.raises(ti.TaichiAssertionError) as caught:
                check(number + 100 * turn, number)
            assert caught.value.kernel == "check"

    run_threads(work)
    lines = capfd.readouterr().out.split()
    assert sorted(lines) == sorted(str(number) for number in range(4) for _ in range(10))


@pytest.mark.all_targets
@pytest.mark.parametrize("ending", ["session", "tree"])
def test_a_store_of_another_thread_is_lost_with_its_memory(
    target: str, mirrored: bool, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    builder = ti.FieldsBuilder()
    x = ti.field(ti.i32)
    builder.dense(ti.i, 8).place(x)
    tree = builder.finalize()
    x[3] = 1

    def store_late(session: sessions.Session, seconds: float = 0.0) -> bool:
        """Do what a store does that another thread has begun: it has passed all checks already."""
        if x.memory.mirrored:
            x.memory.mark((3,))
        return True

    monkeypatch.setattr(sessions.Session, "wait_for_other_threads", store_late)
    if ending == "tree":
        tree.destroy()
    else:
        ti.reset()
        ti.init(arch=getattr(ti, target), log_level=ti.WARN)
    y = ti.field(ti.i32, 4)
    y[1] = 2
    assert y.to_numpy().tolist() == [0, 2, 0, 0]
