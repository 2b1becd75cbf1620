"""`ti.profiler`: times of kernels."""

from __future__ import annotations

import json
import platform
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda import timer
from shadesmith.runtime.launch.launch_times import profile_of
from shadesmith.runtime.session import session
from shadesmith.runtime.workbench.measure import roofline


def test_times_of_kernels(capsys: pytest.CaptureFixture[str]) -> None:
    ti.init(arch=ti.python, kernel_profiler=True, log_level=ti.ERROR)
    x = ti.field(ti.f32, 4)

    @ti.kernel
    def fill(a: ti.f32) -> ti.f32:
        for i in x:
            x[i] = a
        return a

    assert [fill(k) for k in range(3)] == [0, 1, 2]
    found = ti.profiler.query_kernel_profiler_info("fill")
    assert found.counter == 3 and 0 < found.min <= found.avg <= found.max
    assert ti.profiler.get_kernel_profiler_total_time() == pytest.approx(3 * found.avg / 1e3)
    ti.profiler.print_kernel_profiler_info()
    ti.profiler.print_kernel_profiler_info("trace")
    printed = capsys.readouterr().out
    assert "Kernel Profiler(count, default)" in printed and "3x |" in printed and "Number of records:   3" in printed
    ti.profiler.clear_kernel_profiler_info()
    assert ti.profiler.query_kernel_profiler_info("fill").counter == 0
    ti.profiler.print_kernel_profiler_info()
    with pytest.raises(ValueError, match="'count' or 'trace'"):
        ti.profiler.print_kernel_profiler_info("other")
    assert ti.profiler.set_kernel_profiler_toolkit("default") and not ti.profiler.set_kernel_profiler_toolkit("cupti")
    assert len(ti.profiler.get_predefined_cupti_metrics("global_access")) > 0
    with ti.profiler.collect_kernel_profiler_metrics():
        fill(1)
    assert ti.profiler.query_kernel_profiler_info("fill").counter == 1
    ti.profiler.clear_scoped_profiler_info()
    ti.profiler.print_scoped_profiler_info()


def test_without_the_option_there_are_no_times() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.warns(ti.ShadesmithWarning, match="kernel_profiler=True"):
        assert ti.profiler.query_kernel_profiler_info("fill") is None


@pytest.fixture
def profiled(target: str) -> None:
    """Start a session with a profile."""
    ti.init(arch=getattr(ti, target), kernel_profiler=True, log_level=ti.ERROR, enable_fallback=False)


@ti.kernel
def saxpy(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1), a: ti.f32):
    for i in x:
        y[i] = a * x[i] + y[i]


@ti.kernel
def fill_and_sum(x: ti.template()) -> ti.f32:
    for i in x:
        x[i] = 2.0
    s = 0.0
    for i in x:
        s += x[i]
    return s


@pytest.mark.all_targets
def test_each_task_is_timed_in_order(target: str, profiled: None) -> None:
    x = ti.field(ti.f32, 100)
    assert [fill_and_sum(x) for _ in range(3)] == [200.0] * 3
    found = ti.profiler.query_kernel_profiler_info("fill_and_sum")
    assert found.counter == 3 and 0 < found.min <= found.avg <= found.max
    records = profile_of(session.current()).records()
    tasks = ["fill_and_sum"] if target == "python" else [task.name for task in fill_and_sum.instances()[0].module.tasks]
    assert [record.task for record in records] == tasks * 3
    assert {record.launch for record in records} == {1, 2, 3}
    ends = [record.start + record.seconds for record in records]
    assert all(end <= later.start + 1e-9 for end, later in zip(ends, records[1:]))
    assert ti.profiler.query_kernel_profiler_info(tasks[0]).counter == 3
    device = "device's" if target in ("vulkan", "cuda") else "host's"
    assert device in profile_of(session.current()).clock


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_loops_without_iterations_and_many_launches(target: str, profiled: None) -> None:
    empty, x = ti.ndarray(ti.f32, 0), ti.ndarray(ti.f32, 7)
    saxpy(empty, empty, 1.0)
    launches = 20 if target == "python" else 300  # Vulkan's stamps are read after 256
    for _ in range(launches):
        saxpy(x, x, 1.0)
    interpreted = int(target == "python")  # which does not know that a loop has no iteration
    assert ti.profiler.query_kernel_profiler_info("saxpy").counter == launches + interpreted
    ti.profiler.clear_kernel_profiler_info()
    assert ti.profiler.get_kernel_profiler_total_time() == 0
    saxpy(x, x, 1.0)
    assert ti.profiler.query_kernel_profiler_info("saxpy").counter == 1


def test_threads_are_timed_together(target: str, profiled: None) -> None:
    arrays = [ti.ndarray(ti.f32, 50) for _ in range(3)]

    def work(x: object) -> None:
        for _ in range(10):
            saxpy(x, x, 1.0)

    threads = [threading.Thread(target=work, args=(x,)) for x in arrays]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ti.profiler.query_kernel_profiler_info("saxpy").counter == 30


def test_a_thread_has_a_context_before_the_gpu_is_kept_busy(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    stream, loaded = SimpleNamespace(ptr=0), SimpleNamespace(function=lambda name: 0)
    monkeypatch.setattr(timer, "_busy_cubin", lambda arch: b"")
    note = lambda name: lambda *arguments: calls.append(name)  # noqa: E731
    device = SimpleNamespace(
        arch="sm_90", current_stream=lambda: stream, load_code=lambda code: loaded, describe=RuntimeError,
        failure=(OSError,), launch_kernel=note("launch"), enter=note("enter"),
    )  # fmt: skip
    timer.CudaTimer(device).delay(1e-6)
    assert calls == ["enter", "launch"]


def test_a_graph_is_timed(target: str, profiled: None) -> None:
    builder = ti.graph.GraphBuilder()
    x = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "x", ti.f32, ndim=1)
    for _ in range(3):
        builder.dispatch(saxpy, x, x, ti.graph.Arg(ti.graph.ArgKind.SCALAR, "a", ti.f32))
    y = ti.ndarray(ti.f32, 5)
    y.fill(1.0)
    builder.compile().run({"x": y, "a": 1.0})
    assert (y.to_numpy() == 8).all()
    assert ti.profiler.query_kernel_profiler_info("saxpy").counter == 3


@pytest.mark.one_target
def test_a_chrome_trace(target: str, profiled: None, tmp_path: Path) -> None:
    x = ti.field(ti.f32, 100)
    fill_and_sum(x)
    ti.profiler.export_chrome_trace(tmp_path / "trace.json")
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    total = ti.profiler.get_kernel_profiler_total_time()
    assert sum(event["dur"] for event in events) == pytest.approx(total * 1e6)
    assert {event["args"]["kernel"] for event in events} == {"fill_and_sum"} and events[0]["ts"] >= 0


@pytest.mark.one_target
def test_the_roofline_of_saxpy_is_exact(target: str, profiled: None) -> None:
    n = 333
    x, y = ti.ndarray(ti.f32, n), ti.ndarray(ti.f32, n)
    for _ in range(2):
        saxpy(x, y, 2.0)
    (row,) = ti.profiler.roofline()
    assert (row.task, row.launches, row.bytes, row.operations) == ("saxpy", 2, 12 * n, 2 * n)
    assert row.is_exact and row.limit in ("memory", "arithmetic") and row.share > 0 and "MB at" in str(row)
    assert ti.profiler.query_kernel_profiler_info("saxpy").counter == 2
    assert len(ti.profiler.roofline()) == 1, "the kernels that measure the device are no part of the profile"


@pytest.mark.skipif("x86" not in platform.machine(), reason="the number is for processors with vectors of 256 bits")
def test_the_arithmetic_of_a_processor_is_that_of_its_vectors() -> None:
    ti.init(arch=ti.cpu, kernel_profiler=True, log_level=ti.ERROR)
    rate = roofline.ceilings_of(session.current()).rate
    source = roofline.multiply_rows_for_ceiling.source(ti.ndarray(ti.f32, (4, 4)), 1, 0.5)
    assert "for (int column = 0;" in source
    assert rate > 12e9, "one number at a time is 4e9 on two cores that others use, vectors are 1e11"


def work_of_one(kernel: object, *args: object) -> tuple[float, float, bool]:
    """Return bytes, operations and exactness of the only task of a launch."""
    kernel(*args)
    (row,) = ti.profiler.roofline()
    ti.profiler.clear_kernel_profiler_info()
    return row.bytes, row.operations, row.is_exact


def test_work_of_some_loops() -> None:
    ti.init(arch=ti.cpu, kernel_profiler=True, log_level=ti.ERROR)
    n, m = 20, 30
    a, b = ti.ndarray(ti.f64, (n, m)), ti.ndarray(ti.f64, (n, m))
    index = ti.ndarray(ti.i32, n)
    v = ti.ndarray(ti.math.vec3, n)

    @ti.kernel
    def stencil(a: ti.types.ndarray(ti.f64, 2), b: ti.types.ndarray(ti.f64, 2)):
        for i, j in ti.ndrange((1, a.shape[0] - 1), (1, a.shape[1] - 1)):
            b[i, j] = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]

    @ti.kernel
    def rows(a: ti.types.ndarray(ti.f64, 2), x: ti.types.ndarray(ti.f64, 2)):
        for i in range(20):
            s = ti.f64(0.0)
            for j in range(30):
                s += a[i, j] * x[0, j]
            x[i, 0] = s

    @ti.kernel
    def gather(index: ti.types.ndarray(ti.i32, 1), a: ti.types.ndarray(ti.f64, 2)):
        for i in index:
            a[i, 0] = a[index[i], 1]

    @ti.kernel
    def move(v: ti.types.ndarray(ti.math.vec3, 1)):
        for i in v:
            v[i] = v[i] * 2.0

    @ti.kernel
    def count(index: ti.types.ndarray(ti.i32, 1)):
        for i in index:
            ti.atomic_add(index[i], 1)

    assert work_of_one(stencil, a, b) == (16 * 18 * 28, 3 * 18 * 28, True)
    assert work_of_one(rows, a, b) == (8 * (20 * 30 + 30 + 20), 2 * 600, True)
    assert work_of_one(gather, index, a) == ((4 + 8 + 8) * n, 0, True)
    assert work_of_one(move, v) == (24 * n, 3 * n, True)
    assert work_of_one(count, index) == (8 * n, 0, True)


def test_metrics_are_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    ti.init(arch=ti.python, kernel_profiler=True, log_level=ti.WARN)
    ti.profiler.set_kernel_profiler_metrics([ti.profiler.CuptiMetric("smsp__inst_executed.sum")])
    assert "`smsp__inst_executed.sum` is not read" in caplog.text
