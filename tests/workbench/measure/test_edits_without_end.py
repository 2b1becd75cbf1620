"""Edits that do not end in this process: `compare`, `bench`, `tune` and `bisect` give up the GPU, and say why.

lavapipe and the emulation of CUDA stand for all GPUs: what waits for a launch says that it has not ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import compared
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.devices.cuda import limited_waits
from shadesmith.runtime.launch import watchdog
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.process import runners

GENERATED_LIMIT, EDIT_LIMIT = runners.PATIENT_GENERATED_SECONDS, runners.PATIENT_SECONDS
NO_MORE = "this process cannot use the device any more"

Start = Callable[..., SimpleNamespace]


@pytest.fixture
def gpu(target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Start a session with a GPU.

    ends: whether a wait of so many seconds, with a number from 0 on, sees the end of its launch. Of what is returned,
    `waits` are the seconds of all waits, and `given_up` has an element for each time that the device was given up.
    """
    if target not in ("vulkan", "cuda"):
        pytest.skip("kernels of the host are stopped, and the interpreter runs no source")
    seen = SimpleNamespace(waits=[], given_up=[])

    def start(ends: Callable[[float, int], bool], **options: Any) -> SimpleNamespace:
        ti.init(arch=getattr(ti, target), edits_dir=str(tmp_path), log_level="warn", **options)
        seen.device = device = sessions.current().device
        monkeypatch.setattr(watchdog, "end_without_drivers", lambda: seen.given_up.append(True))
        monkeypatch.setattr(limited_waits, "STUCK", {})
        monkeypatch.setattr(type(device), "ends_loops", False, raising=False)

        def finish_within(self: Any, seconds: float, stream: int | None = None) -> bool:
            seen.waits.append(seconds)
            return ends(seconds, len(seen.waits) - 1)

        monkeypatch.setattr(type(device), "finish_within", finish_within)
        return seen

    yield start
    monkeypatch.undo()
    if hasattr(seen, "device"):
        if target == "vulkan":  # the device is there in truth, and is closed here
            seen.device._queue.owner = seen.device._queue._process
        ti.reset()
        if target == "vulkan":
            seen.device.close()


def slow_clock(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """Let each run take so long."""
    ticks = count()
    monkeypatch.setattr(runners, "perf_counter", lambda: seconds * next(ticks))


def edited(old: str = "y(i) =", new: str = "/* for ever */ y(i) =") -> tuple[Any, tuple[Any, ...], Path]:
    kernel, args = compared.bits()
    path = kernel.edit(*args)
    written_programs.replaced(path, old, new)
    return kernel, args, path


def only_generated(seconds: float, number: int) -> bool:
    return seconds == GENERATED_LIMIT


@pytest.mark.all_targets
def test_compare_gives_up_an_edit_and_names_it(gpu: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    seen = gpu(only_generated)
    slow_clock(monkeypatch, 0.5)
    kernel, args, path = edited()
    with pytest.raises(ti.LaunchTimeoutError) as caught:
        kernel.compare(*args, in_process=True)
    place, said = caught.value.message.split(": ", 1)
    file, line = place.rsplit(":", 1)
    assert file == str(path) and "(" in path.read_text().splitlines()[int(line) - 1], "where the task begins"
    title = seen.device.title
    assert said.startswith(f"`edit` of kernel `mix` has run for more than 50 s on {title}; the generated source takes ")
    assert "takes 0.5 s. It loops without end, or it accesses memory that does not exist" in said and NO_MORE in said
    assert "`time_limit=`" in caught.value.hint and "without `in_process=True`" in caught.value.hint
    assert seen.waits == [GENERATED_LIMIT] * 3 + [50.0] and seen.given_up
    with pytest.raises(ti.TaichiRuntimeError, match=f"`edit` of kernel `mix` has run .*{NO_MORE}"):
        ti.ndarray(ti.f32, 4).to_numpy()


@pytest.mark.parametrize(
    ("watchdog_seconds", "time_limit", "of_generated", "of_edit"),
    [
        (0.0, None, GENERATED_LIMIT, EDIT_LIMIT),
        (0.0, 7.0, GENERATED_LIMIT, 7.0),
        (0.0, 7000.0, 7000.0, 7000.0),
        (20.0, None, 20.0, 20.0),
        (20.0, 40.0, 40.0, 40.0),
    ],
)
@pytest.mark.all_targets
def test_the_time_is_that_of_the_call_or_of_the_watchdog(
    gpu: Start, watchdog_seconds: float, time_limit: float | None, of_generated: float, of_edit: float
) -> None:
    seen = gpu(lambda seconds, number: number < 3, watchdog=watchdog_seconds)
    kernel, args, _ = edited()
    with pytest.raises(ti.LaunchTimeoutError, match=f"has run for more than {of_edit:g} s"):
        kernel.compare(*args, in_process=True, time_limit=time_limit)
    assert seen.waits == [of_generated] * 3 + [of_edit]


@pytest.mark.all_targets
def test_what_ends_in_time_is_compared_and_timed(gpu: Start) -> None:
    seen = gpu(lambda seconds, number: True)
    kernel, args, _ = edited()
    assert kernel.compare(*args, in_process=True).passed
    assert kernel.bench(*args, seconds=0.01, in_process=True).rounds and not seen.given_up


@pytest.mark.all_targets
def test_sizes_are_named(gpu: Start) -> None:
    edits = count()
    gpu(lambda seconds, number: seconds == GENERATED_LIMIT or next(edits) < 3)
    kernel, args, _ = edited()
    with pytest.raises(ti.LaunchTimeoutError, match=r"`edit` .*has run .*\. Its arrays were x \(0,\), y \(0,\)\. Hint"):
        kernel.compare(*args, in_process=True)


@pytest.mark.all_targets
def test_a_device_that_is_lost_with_another_size_is_no_size_that_is_left_out(gpu: Start) -> None:
    gpu(lambda seconds, number: number < 6)
    kernel, args, _ = edited()
    with pytest.raises(ti.LaunchTimeoutError, match=r"^`generated` of kernel `mix` has run for more than 600 s"):
        kernel.compare(*args, in_process=True)


@pytest.mark.all_targets
def test_bench_gives_up_an_edit_before_it_is_timed(gpu: Start) -> None:
    seen = gpu(only_generated)
    kernel, args, path = edited()
    with pytest.raises(ti.LaunchTimeoutError) as caught:
        kernel.bench(*args, variants=["edit"], in_process=True)
    assert caught.value.message.startswith(f"{path}:") and "the generated source takes " in caught.value.message
    assert seen.waits == [GENERATED_LIMIT, EDIT_LIMIT] and len(seen.given_up) == 1


@pytest.mark.all_targets
def test_tune_stops_at_a_setting_and_stores_that_it_failed(gpu: Start) -> None:
    edits = count()
    gpu(lambda seconds, number: seconds == GENERATED_LIMIT or next(edits) < 5)
    kernel, args, path = edited()
    text = path.read_text()
    first, rest = text.split("\n", 1)
    place = rest.index("struct Args") if "struct Args" in rest else rest.index("layout(")
    path.write_text(f"{first}\n{rest[:place]}#define EXTRA 0  // @tune EXTRA = 0 | 1 | 2\n{rest[place:]}")
    with pytest.raises(ti.TaichiRuntimeError, match=r"^EXTRA=1 of kernel `mix` made .* unusable: .*has run for"):
        kernel.tune(*args, seconds=0.01, in_process=True)
    stored = next(Path(sessions.CURRENT.config.edits_dir).rglob("*tun*.json")).read_text()
    assert '"failed"' in stored and "has run for more than 30 s" in stored, stored


@pytest.mark.all_targets
def test_bisect_blames_no_pass_for_a_lost_device(gpu: Start) -> None:
    seen = gpu(lambda seconds, number: False)
    kernel, args, _ = edited()
    with pytest.raises(ti.LaunchTimeoutError, match=f"changes` of kernel `mix` has run .*{NO_MORE}"):
        kernel.bisect(*args, in_process=True)
    assert len(seen.waits) == 1


@pytest.mark.all_targets
def test_a_driver_that_ends_all_loops_is_waited_for(gpu: Start, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if target != "vulkan" or not sessions.CURRENT.device.is_software:
        pytest.skip("of lavapipe")
    seen = gpu(lambda seconds, number: False)
    monkeypatch.setattr(type(seen.device), "ends_loops", True)
    kernel, args, _ = edited()
    assert kernel.compare(*args, in_process=True).passed and not seen.waits


@pytest.mark.targets("cpu")
def test_a_process_of_its_own_has_the_limits_of_each_call(target: str) -> None:
    if target != "cpu":
        pytest.skip("of no target")
    runner = runners.IsolatedRunner(sessions.CURRENT)
    try:
        calls: list[Any] = [SimpleNamespace(), SimpleNamespace()]
        for call, seconds in zip(calls, (2.0, 0.1), strict=True):
            runner.take(call)
            runner._note_duration(seconds)
        found = []
        for call in calls:
            runner.take(call)
            found.append(runner._limits.of_edit(runner._longest))
        assert found == [60.0, runners.LEAST_SECONDS], "a call is returned to when its edit runs with other sizes"
    finally:
        runner.close()
