"""Launches that repeat are recorded once: whatever comes between them, each sees what the ones before it have written."""

from __future__ import annotations

import gc
import os
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan import repeats
from shadesmith.runtime.session import session

SIZE = 64


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> Any:
    """Return the queue of a new session."""
    if "vulkan" not in request.config.getoption("--targets", default="vulkan"):
        pytest.skip("needs the target vulkan")
    ti.init(arch=ti.vulkan, enable_fallback=False, log_level="error")
    return session.CURRENT.device._queue  # type: ignore[union-attr]


def kernels() -> tuple[Any, dict[str, tuple[Callable[[], object], Callable[[np.ndarray], object]]]]:
    """Return a field, and launches that change it, with what each does to an array of NumPy."""
    x, total = ti.field(ti.i32, SIZE), ti.field(ti.i32, ())

    @ti.kernel
    def one(add: ti.i32):
        for i in x:
            x[i] = x[i] * 3 + add

    @ti.kernel
    def three():
        for i in x:
            x[i] += i
        total[None] = x[5]
        for i in x:
            x[i] ^= total[None]

    @ti.kernel
    def serial():
        x[0] += x[SIZE - 1]

    @ti.kernel
    def returned() -> ti.i32:
        return x[7]

    def by_three(a: np.ndarray) -> None:
        a += np.arange(SIZE, dtype=np.int32)
        a ^= a[5]

    def by_one(add: int) -> Callable[[np.ndarray], None]:
        def change(a: np.ndarray) -> None:
            a[:] = a * 3 + add

        return change

    def by_serial(a: np.ndarray) -> None:
        a[0] += a[SIZE - 1]

    found: dict[str, tuple[Callable[[], object], Callable[[np.ndarray], object]]] = {
        "three": (three, by_three),
        "serial": (serial, by_serial),
        "returned": (returned, lambda a: int(a[7])),
        "sync": (ti.sync, lambda a: None),
        "fill": (lambda: x.fill(5), lambda a: a.fill(5)),
        "read": (lambda: x.to_numpy().tolist(), lambda a: a.tolist()),
        "element": (lambda: x[3], lambda a: int(a[3])),
    }
    for add in (1, 2):
        found[f"one {add}"] = (lambda add=add: one(add)), by_one(add)
    return x, found


@pytest.mark.parametrize("seed", range(6))
def test_random_launches(seed: int, queue: Any) -> None:
    x, launches = kernels()
    dice, expected = random.Random(seed), np.zeros(SIZE, np.int32)
    names = list(launches)
    with np.errstate(over="ignore"):
        for _ in range(120):
            name, count = dice.choice(names), dice.choice((1, 1, 2, 5, 40))
            run, same = launches[name]
            for _ in range(count):
                found, wanted = run(), same(expected)
                assert wanted is None or found == wanted, name
    assert (x.to_numpy() == expected).all()


def test_what_is_submitted(queue: Any) -> None:
    """A loop of calls and waits records nothing, and calls without waits are one command each."""
    _, launches = kernels()
    three, serial = launches["three"][0], launches["serial"][0]
    for _ in range(repeats.REPEATS):
        for launch in (three, serial):
            launch()
            ti.sync()
    begun, begin, queue.limit = [], queue.begin, 64
    queue.begin = lambda: begun.append(1) or begin()
    for _ in range(5):
        serial()
        assert queue.held is not None and queue.commands is None
        ti.sync()
    assert not begun and queue.is_idle
    serial()
    held, queue.limit = queue.held, 64
    assert not queue.is_idle
    three()
    assert held is not None and queue.held is None and queue.commands is not None and queue.recorded == 4
    ti.sync()


def test_without_task_graphs() -> None:
    ti.init(arch=ti.vulkan, enable_fallback=False, log_level="error", task_graphs=False)
    _, launches = kernels()
    for _ in range(5):
        launches["serial"][0]()
    assert session.CURRENT.device._queue.held is None  # type: ignore[union-attr]


def test_arrays_that_change_places(queue: Any) -> None:
    @ti.kernel
    def blur(a: ti.types.ndarray(ti.i32, 1), b: ti.types.ndarray(ti.i32, 1)):
        for i in b:
            b[i] = a[i] + a[(i + 1) % SIZE]
        for i in b:
            b[i] %= 1000

    a, b = ti.ndarray(ti.i32, SIZE), ti.ndarray(ti.i32, SIZE)
    expected = np.arange(SIZE, dtype=np.int32)
    a.from_numpy(expected)
    for _ in range(75):
        blur(a, b)
        a, b = b, a
        expected = (expected + np.roll(expected, -1)) % 1000
    assert (a.to_numpy() == expected).all()
    for _ in range(20):  # arrays that are freed while their launches are on the way
        c = ti.ndarray(ti.i32, SIZE)
        for _ in range(4):
            blur(a, c)
        del c
        gc.collect(1)  # what is this young; all that other tests keep takes 0.2 s each time
    expected = (expected + np.roll(expected, -1)) % 1000
    blur(a, b)
    assert (b.to_numpy() == expected).all()


def test_numbers_that_differ_are_not_looked_at_for_ever(queue: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST_SEEN", 20)
    monkeypatch.setattr(repeats, "MOST_REPEATS", 3)
    x, total = ti.field(ti.i32, SIZE), 0

    @ti.kernel
    def add(k: ti.i32):
        for i in x:
            x[i] += k
        for i in x:
            x[i] += 1

    for k in range(5):
        for _ in range(5):
            add(k)
            total += k + 1
    for k in range(50):
        add(k)
        total += k + 1
    assert x[0] == total and x[SIZE - 1] == total


def test_a_kernel_that_is_gone_while_its_launch_is_held(queue: Any) -> None:
    x = ti.field(ti.i32, SIZE)

    def launch() -> None:
        @ti.kernel
        def add():
            for i in x:
                x[i] += 1

        for _ in range(6):
            add()
            ti.sync()
        add()

    launch()
    gc.collect()
    queue.collect()
    assert x[3] == 7
    launch()
    ti.reset()


def test_launches_are_measured_and_recorded_beside_them(queue: Any) -> None:
    _, launches = kernels()
    three = launches["three"][0]
    for _ in range(5):
        three()
    builder = ti.graph.GraphBuilder()
    builder.dispatch(three)
    graph = builder.compile()
    x, again = kernels()
    expected = np.zeros(SIZE, np.int32)
    for _ in range(6):
        again["one 1"][0]()
        graph.run({})
        again["one 1"][0]()
        again["one 1"][1](expected), again["one 1"][1](expected)
    assert (x.to_numpy() == expected).all()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="has no fork")
def test_a_child_drops_what_its_parent_held(queue: Any) -> None:
    x, launches = kernels()
    for _ in range(5):
        launches["serial"][0]()
        ti.sync()
    launches["one 1"][0]()
    ti.sync()
    launches["serial"][0]()
    assert queue.held is not None
    child = os.fork()
    if child == 0:
        code = 1
        try:
            launches["serial"][0]()
        except ti.TaichiRuntimeError:
            code = 0 if queue.held is None else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert x[0] == 2 and x[1] == 1
