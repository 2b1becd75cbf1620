"""`ti.Stream`, `ti.Event`, `stream=` of a launch: on CUDA several queues, elsewhere one."""

from __future__ import annotations

import ctypes
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.errors import TaichiRuntimeError, TaichiRuntimeTypeError, TaichiSyntaxError

VECTOR = ti.types.ndarray(ti.f32, 1)
SIZE = 1 << 12


@ti.kernel
def add(x: VECTOR, value: ti.f32):
    for i in x:
        x[i] += value


@ti.kernel
def scaled_sum(x: VECTOR, scale: ti.f32) -> ti.f32:
    total = 0.0
    for i in x:
        total += x[i] * scale
    return total


@ti.data_oriented
class Solver:
    @ti.kernel
    def step(self, x: VECTOR):
        for i in x:
            x[i] *= 2.0


def zeros() -> ti.ScalarNdarray:
    return ti.ndarray(ti.f32, SIZE)


@pytest.mark.all_targets
def test_launches_on_streams_compute_what_they_do_in_order(target: str) -> None:
    x, y = zeros(), zeros()
    first, second = ti.Stream(), ti.Stream()
    for _ in range(20):
        add(x, 1.0, stream=first)
        add(y, 2.0, stream=second)
    second.wait(first)
    with second:
        add(x, 0.5)
        add(x=x, value=0.25, stream=None)
    assert (x.to_numpy() == 20.75).all() and (y.to_numpy() == 40.0).all()
    assert (first.handle != second.handle) == (target == "cuda")
    assert first.__cuda_stream__() == (0, first.handle)


@pytest.mark.all_targets
def test_events_order_streams_and_have_times(target: str) -> None:
    x = zeros()
    first, second = ti.Stream(), ti.Stream()
    begin, end, never = ti.Event(), ti.Event(), ti.Event()
    begin.record(first)
    add(x, 1.0, stream=first)
    end.record(first)
    second.wait(end)
    end.wait(second)
    never.wait()
    add(x, 2.0, stream=second)
    last = second.record()
    last.synchronize()
    assert never.query() and last.query() and end.query()
    assert (x.to_numpy() == 3.0).all()
    if target == "vulkan":
        with pytest.raises(TaichiRuntimeError, match="have no times"):
            begin.elapsed_time(end)
    else:
        assert begin.elapsed_time(end) >= 0.0
    with pytest.raises(TaichiRuntimeError, match="not recorded"):
        begin.elapsed_time(never)


def test_a_kernel_with_memory_of_its_own_waits_for_its_last_launch(target: str) -> None:
    """Its temporaries are for one launch at a time, whatever the stream."""
    x = zeros()
    x.fill(1.0)
    streams = [ti.Stream() for _ in range(3)]
    found = [scaled_sum(x, float(k), stream=streams[k % 3]) for k in range(9)]
    assert found == [float(k * SIZE) for k in range(9)]


def test_methods_results_and_threads(target: str) -> None:
    x = zeros()
    x.fill(1.0)
    stream = ti.Stream()
    Solver().step(x, stream=stream)

    def launch() -> None:
        with stream:
            add(x, 1.0)

    thread = threading.Thread(target=launch)
    thread.start()
    thread.join()
    assert scaled_sum(x, 1.0, stream=stream) == 3.0 * SIZE


@pytest.mark.one_target
def test_a_parameter_of_that_name_is_an_argument(target: str) -> None:
    @ti.kernel
    def named(x: VECTOR, stream: ti.f32):
        for i in x:
            x[i] = stream

    x = zeros()
    named(x, stream=2.0)
    assert (x.to_numpy() == 2.0).all()


@pytest.mark.all_targets
def test_what_is_no_stream_is_refused(target: str) -> None:
    x = zeros()
    with pytest.raises(TaichiRuntimeTypeError, match="takes a stream of ti, CuPy or torch.*found str"):
        add(x, 1.0, stream="first")
    with pytest.raises(TaichiSyntaxError, match="Unexpected argument `streams`"):
        add(x, 1.0, streams=ti.Stream())
    other = SimpleNamespace(ptr=7)
    if target != "cuda":
        with pytest.raises(TaichiRuntimeTypeError, match="no stream of another library"):
            add(x, 1.0, stream=other)
    assert (x.to_numpy() == 0.0).all()


@pytest.mark.one_target
def test_streams_of_an_ended_or_other_session_are_refused(target: str) -> None:
    stream, event = ti.Stream(), ti.Event()
    with ti.Session(ti.python):
        x = ti.ndarray(ti.f32, 2)
        with pytest.raises(TaichiRuntimeError, match="another session"):
            add(x, 1.0, stream=stream)
        add(x, 1.0, stream=ti.Stream())
        assert np.array_equal(x.to_numpy(), [1.0, 1.0])
    ti.init(arch=ti.python, log_level="error")
    x = ti.ndarray(ti.f32, 2)
    with pytest.raises(TaichiRuntimeError, match="session that has ended"):
        add(x, 1.0, stream=stream)
    with pytest.raises(TaichiRuntimeError, match="session that has ended"):
        event.record()


@pytest.mark.parametrize("made", [lambda h: h, lambda h: SimpleNamespace(ptr=h), lambda h: SimpleNamespace(cuda_stream=h),
                                  lambda h: SimpleNamespace(handle=ctypes.c_void_p(h)),
                                  lambda h: SimpleNamespace(__cuda_stream__=lambda: (0, h))])  # fmt: skip
@pytest.mark.targets("cuda")
def test_streams_of_other_libraries(target: str, made) -> None:
    if target != "cuda":
        pytest.skip("only CUDA has streams of other libraries")
    x, own = zeros(), ti.Stream()
    add(x, 1.0, stream=made(own.handle))
    own.synchronize()
    assert (x.to_numpy() == 1.0).all()
