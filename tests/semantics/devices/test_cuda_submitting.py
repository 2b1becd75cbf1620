"""Launches of CUDA kernels by a driver that only notes them: grids, argument blocks, threads without a context."""

from __future__ import annotations

import ctypes
from collections import deque
from types import SimpleNamespace

import pytest

from shadesmith.runtime.devices.cuda.submitting import Submitter
from shadesmith.transpiler.backend.module.interface import TaskSource


class DriverError(Exception):
    """What the driver raises."""


def device(launches: list, failures: int = 0, has_context: bool = True) -> SimpleNamespace:
    def launch(*arguments):
        nonlocal failures
        if failures:
            failures -= 1
            raise DriverError
        launches.append(arguments)

    return SimpleNamespace(
        current_stream=lambda: SimpleNamespace(ptr=7),
        failure=(DriverError,),
        launch_kernel=launch,
        recent=deque(),
        resident_threads=1024,
        stream=7,
        note_stream=lambda *given: None,
        enter_thread=lambda error: not has_context,
        describe=lambda error: RuntimeError("described"),
    )


def submitter(owner: SimpleNamespace, *tasks: TaskSource) -> Submitter:
    buffer = (ctypes.c_ubyte * 8)()
    return Submitter(owner, "name", tasks, list(range(40, 40 + len(tasks))), buffer, None)


PLAIN = TaskSource("a", "range_for", "a", 0, 128, (("const", 1),))
STRIDED = TaskSource("b", "range_for", "b", 0, 128, None, strided=True)


@pytest.mark.parametrize(
    ("count", "groups"), [(1, 1), (128, 1), (129, 2), (2**31 - 1, 2**24)], ids=["one", "full", "two", "most"]
)
def test_blocks_of_a_loop(count, groups):
    launches = []
    submitter(device(launches), PLAIN).submit((count,))
    assert [(found[0], found[1], found[4], found[8]) for found in launches] == [(40, groups, 128, 7)]


def test_a_loop_without_iterations_starts_nothing():
    launches = []
    submitter(device(launches), PLAIN, PLAIN).submit((0, 1))
    assert [found[0] for found in launches] == [41]


@pytest.mark.parametrize(("count", "groups"), [(-1, 32), (1, 1), (10**6, 32)], ids=["unknown", "one", "many"])
def test_blocks_of_a_grid_stride_loop(count, groups):
    launches = []
    submitter(device(launches), STRIDED).submit((count,))
    assert [found[1] for found in launches] == [groups]


def test_a_given_block_and_stream_are_used():
    launches = []
    made = submitter(device(launches), PLAIN)
    block = made.names["new_block"]()
    made.submit((1,), 9, block[1])
    assert (launches[0][8], launches[0][9]) == (9, block[1])
    assert block[1] != made.names["arguments"]


def test_a_thread_without_a_context_starts_again_with_the_same_block():
    launches = []
    made = submitter(device(launches, failures=1, has_context=False), PLAIN)
    made.submit((1,), None, 1234)
    assert launches[0][9] == 1234


def test_an_error_of_the_driver_is_described():
    with pytest.raises(RuntimeError, match="described"):
        submitter(device([], failures=1), PLAIN).submit((1,))
