"""What a kernel tells of itself: the trace, the list of kernels, blame, diffs of passes, launch plan, numbers."""

from __future__ import annotations

import json
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.events import SINKS
from shadesmith.runtime.launch.kernel import CALL_OBSERVERS
from shadesmith.runtime.session import session as sessions

pytestmark = pytest.mark.one_target  # the rest in `make test-all`


@ti.kernel
def scale(f: ti.template(), a: ti.i32, v: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    total = 0.0
    for i in f:
        f[i] += a * 2.0 + v[i]
    for i in range(a):
        total += v[i] + f[0]
    return total


@ti.kernel
def fill(f: ti.template(), value: ti.f32):
    for i in f:
        f[i] = value


def begun(target: str) -> tuple[Any, Any]:
    ti.init(arch=getattr(ti, target))
    return ti.field(ti.f32, 64), ti.ndarray(ti.f32, 300)


def test_a_trace_has_all_five_stages(target: str, tmp_path: Any) -> None:
    x, v = begun(target)
    with ti.trace() as trace:

        @ti.kernel
        def add(f: ti.template(), a: ti.i32):
            for i in f:
                f[i] += a

        add(x, 1)
        add(x, 2)
    stages = {event.stage for event in trace.events}
    assert {"registration", "instantiation", "stage", "pass", "launch"} <= stages
    assert "compiler" in stages
    assert [event.name for event in trace.of("launch")] == ["add", "add"]
    assert [event.name for event in trace.of("instantiation")] == ["add(x, i32)"]
    assert {event.name for event in trace.of("stage")} == {"frontend", "passes", "emit"}
    first, second = trace.of("launch")
    assert first.seconds >= trace.of("instantiation")[0].seconds > 0 and first.start + first.seconds <= second.start
    passes = trace.seconds("pass")
    assert 0 < passes <= next(event.seconds for event in trace.of("stage") if event.name == "passes")
    written = json.loads(trace.export(tmp_path / "t.json").read_text())["traceEvents"]
    assert len(written) == len(trace.events) and all(event["ph"] == "X" and event["dur"] >= 0 for event in written)
    assert "instantiation" in str(trace) and "change nothing" in str(trace)
    assert x[0] == 3


def test_nothing_is_recorded_outside_of_a_trace_and_errors_end_it() -> None:
    x, _ = begun("cpu")
    with pytest.raises(ti.TaichiRuntimeTypeError), ti.trace() as trace:
        fill(x, "text")
    assert SINKS == [] and CALL_OBSERVERS == []
    count = len(trace.events)
    fill(x, 1.0)
    assert len(trace.events) == count


def test_traces_nest_and_wait_for_the_device(target: str) -> None:
    x, _ = begun(target)
    fill(x, 1.0)
    with ti.trace(wait=True) as outer, ti.trace() as inner:
        fill(x, 2.0)
        fill(f=x, value=3.0)
    assert len(outer.of("launch")) == len(inner.of("launch")) == 2
    assert sessions.current().waited == sessions.current().epoch
    assert x[5] == 3.0


def test_a_launch_that_an_observer_replaces_is_observed_once() -> None:
    x, _ = begun("cpu")
    seen: list[str] = []

    def observe(kernel: Any, args: Any, kwargs: Any) -> None:
        seen.append(kernel.definition.name)

    CALL_OBSERVERS.append(observe)
    try:
        with ti.trace():
            fill(x, 2.0)
            fill(x, 3.0)
    finally:
        CALL_OBSERVERS.remove(observe)
    assert seen == ["fill", "fill"]


def test_instances_are_listed_and_told_apart() -> None:
    x, _ = begun("cpu")
    y, anonymous = ti.field(ti.f32, 8), [ti.field(ti.f32, 8), ti.field(ti.f32, 8)]
    for f in (x, y, *anonymous):
        fill(f, 1.0)
    found = next(entry for entry in ti.kernels() if entry.kernel is fill)
    signatures = [instance.signature for instance in found.instances]
    assert signatures[:2] == ["(x, f32)", "(y, f32)"] and len(set(signatures)) == 4
    assert found.tag == "" and found.file.endswith("test_explained.py") and "fill" in str(ti.kernels())


def test_built_in_kernels_are_listed_as_such() -> None:
    begun("cpu")
    data = ti.field(ti.i32, 16)
    executor = ti.algorithms.PrefixSumExecutor(16)
    executor.run(data)
    tagged = [entry for entry in ti.kernels() if entry.tag == "builtin"]
    assert any(entry.instances for entry in tagged)
    assert all("builtin" in str(entry) for entry in tagged)
    before = sessions.current().compiled_functions
    executor.run(data)
    assert sessions.current().compiled_functions == before


def test_a_method_and_its_gradient_are_listed() -> None:
    begun("cpu")

    @ti.data_oriented
    class Solver:
        def __init__(self) -> None:
            self.x = ti.field(ti.f32, 4, needs_grad=True)

        @ti.kernel
        def step(self):
            for i in self.x:
                self.x[i] *= 2.0

    solver = Solver()
    solver.step()
    names = [entry.name for entry in ti.kernels() if entry.instances]
    assert "Solver.step" in names
    assert "temporaries" in str(solver.step.stats()) or solver.step.stats().tasks
    assert solver.step.launch_plan().tasks[0].iterations == 4
    assert solver.step.blame("$0").made_by


def test_blame_names_the_pass_that_made_each_value(target: str) -> None:
    x, v = begun(target)
    inspection = scale.inspect(x, 300, v)
    values = inspection.values["final"]
    first: dict[int, str] = {}
    for name in [name for name in inspection.forms if name.startswith("pass:")]:
        for value in inspection.values[name]:
            first.setdefault(id(value), name.rpartition(":")[2])
    built = {id(value) for value in inspection.values["built"]}
    makers = set()
    for number, value in enumerate(values):
        blamed = inspection.blame(f"${number}")
        expected = "frontend" if id(value) in built else first[id(value)]
        assert blamed.made_by == expected
        makers.add(expected)
    assert {"frontend", "struct_for", "offload"} <= makers
    text = str(scale.blame("$0", x, 300, v))
    assert "$0 was made by offload" in text and "test_explained.py" in text


def test_blame_says_which_pass_changed_a_value_later() -> None:
    x, v = begun("cpu")
    inspection = scale.inspect(x, 300, v)
    histories = [inspection.blame(f"${k}") for k in range(len(inspection.values["final"]))]
    changed = [blamed for blamed in histories if blamed.made_by == "frontend" and blamed.changed]
    assert any("offload" in blamed.changed[-1].form for blamed in changed)


@pytest.mark.parametrize("value", ["$400", "x", "$", "$-1", ""])
def test_blame_refuses_what_is_no_value(value: str) -> None:
    x, v = begun("cpu")
    with pytest.raises(ti.TaichiRuntimeError, match=r"is no value of the form `final`, which has `\$0` to"):
        scale.blame(value, x, 300, v)
    with pytest.raises(KeyError, match="no numbered values"):
        scale.blame("$0", x, 300, v, stage="frontend")


def test_the_diffs_of_passes_lead_from_the_first_form_to_the_last() -> None:
    x, v = begun("cpu")
    inspection = scale.inspect(x, 300, v)
    passes = inspection.passes
    assert passes[0].before == inspection.built and passes[-1].after == inspection.forms["final"]
    assert all(a.after == b.before for a, b in zip(passes, passes[1:]))
    diff = next(p for p in passes if p.name == "demote_atomics").diff()
    assert diff.startswith("--- before demote_atomics\n+++ after demote_atomics\n@@")
    assert any(line.startswith("-") and "atomic add" in line for line in diff.splitlines())
    assert any(line.startswith("+") and "global store" in line for line in diff.splitlines())


def test_the_launch_plan_is_what_a_launch_submits(target: str) -> None:
    x, v = begun(target)
    v.fill(1.0)
    plan = scale.launch_plan(x, 300, v)
    # The interpreter counts by itself. Elsewhere the last loop ends with the return.
    assert [task.iterations for task in plan.tasks] == ([1, None, None, 1] if target == "python" else [1, 64, 300])
    members = {member.name: member for member in plan.arguments}
    assert members["a"].value == 300 and members["a"].what == "argument 1"
    assert members["v_data"].value == v.allocation.address and members["v_data"].shown.startswith("0x")
    ends = [member.offset_bytes + member.size_bytes for member in plan.arguments]
    assert all(end <= after.offset_bytes for end, after in zip(ends, plan.arguments[1:]))
    assert ends[-1] <= plan.size_bytes
    if target == "vulkan":
        assert plan.tasks[1].grid == (1, 1) and plan.tasks[1].threads == 128
        assert plan.tasks[2].barriers > 0
    assert "temporaries" in plan.tasks[-1].waits_for and "generated" in str(plan)
    assert x.to_numpy().sum() == 0  # nothing was launched
    assert scale(x, 300, v) == 300 * (1 + 601)


def test_the_launch_plan_of_no_iterations() -> None:
    x, v = begun("vulkan")
    empty = ti.ndarray(ti.f32, 0)
    plan = scale.launch_plan(x, 0, empty)
    assert plan.tasks[2].iterations == 1 and plan.tasks[2].grid is not None  # it returns, also without an iteration
    with pytest.raises(ti.TaichiSyntaxError, match="Missing argument `a`"):
        scale.launch_plan(x)


def test_statistics_count_the_statements_of_each_task(target: str) -> None:
    x, v = begun(target)
    found = scale.stats(x, 300, v)
    loop = found.tasks["scale_1"]
    assert (loop["loads"], loop["stores"], loop["atomics"]) == (2, 1, 0)
    assert "scale_1" in str(found) and found.lines > 0


def test_the_cache_is_explained_by_kernel(tmp_path: Any) -> None:
    ti.init(arch=ti.cpu, offline_cache=True, offline_cache_file_path=str(tmp_path))
    x = ti.field(ti.f32, 64)
    fill(x, 1.0)
    missed = fill.cache_info()
    fill.forget_launchers()
    fill(x, 1.0)
    found = fill.cache_info()
    assert found.hits > missed.hits and found.instances == 1
    assert "hit  text" in str(found) and "fill" in str(found)


def test_a_kernel_that_does_nothing() -> None:
    begun("cpu")

    @ti.kernel
    def nothing():
        pass

    nothing()
    assert nothing.launch_plan().tasks == () and nothing.stats().tasks == {}
    with pytest.raises(ti.TaichiRuntimeError, match="which has no values"):
        nothing.blame("$0")
