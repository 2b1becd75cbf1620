"""Observers of calls and launches, and the source of modules: what kernels offer to those who know kernels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.cache.compiler import StageClock, compile_source, specialize
from shadesmith.runtime.launch.instance import LAUNCH_OBSERVERS
from shadesmith.runtime.launch.kernel import CALL_OBSERVERS
from shadesmith.runtime.launch.tool_registry import tool
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.session.module_source import Choice, GeneratedOnly
from shadesmith.transpiler.errors import InternalError
from shadesmith.transpiler.pipeline import compile_kernel


@pytest.fixture(autouse=True)
def cpu() -> Iterator[None]:
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    yield
    assert not CALL_OBSERVERS and not LAUNCH_OBSERVERS
    ti.reset()


@ti.kernel
def add(x: ti.template(), n: ti.i32 = 2):
    x[None] += n


@ti.data_oriented
class Adder:
    def __init__(self) -> None:
        self.x = ti.field(ti.i32, ())

    @ti.kernel
    def add(self, n: ti.i32):
        self.x[None] += n


class Launches:
    """Sees the launches of all launchers that are made."""

    def __init__(self) -> None:
        self.seen: list[tuple[Any, ...]] = []
        self.program: Any = None

    def observe(self, instance: Any, program: Any, compilation: Any, kinds: Any) -> Launches:
        self.program = program
        return self

    def wrapped(self, launch: Any) -> Any:
        def seen(*args: Any) -> Any:
            self.seen.append(args)
            return launch(*args)

        return seen


def test_an_observer_sees_every_call_before_it_happens() -> None:
    seen: list[tuple[Any, ...]] = []
    x, adder = ti.field(ti.i32, ()), Adder()

    def observe(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        seen.append((kernel.definition.name, kernel.arguments.bind(args, kwargs)[1:], int(x.to_numpy())))

    CALL_OBSERVERS.append(observe)
    try:
        add(x)
        add(x, n=5)
        adder.add(1)
    finally:
        CALL_OBSERVERS.remove(observe)
    add(x)
    assert seen == [("add", (2,), 0), ("add", (5,), 2), ("add", (1,), 7)]


def test_what_an_observer_raises_ends_the_call_before_it_compiles() -> None:
    class Ended(Exception):
        pass

    def observe(kernel: Any, args: Any, kwargs: Any) -> None:
        raise Ended

    x = ti.field(ti.i32, ())
    add.forget_launchers()
    CALL_OBSERVERS.append(observe)
    try:
        with pytest.raises(Ended):
            add(x)
    finally:
        CALL_OBSERVERS.remove(observe)
    assert x[None] == 0 and add.instances() == []


def test_launchers_made_under_an_observer_are_seen_and_others_are_not() -> None:
    x, launches = ti.field(ti.i32, ()), Launches()
    LAUNCH_OBSERVERS.append(launches)
    try:
        add(x, 3)
    finally:
        LAUNCH_OBSERVERS.remove(launches)
    add(x, 4)
    assert launches.seen == [(x, 3), (x, 4)]
    add.forget_launchers()
    add(x, 5)
    assert launches.seen == [(x, 3), (x, 4)] and x[None] == 12
    assert add.launcher((x, 1))[1].make_packer is not None


def test_an_observed_launcher_is_not_recorded_by_graphs() -> None:
    x, launches = ti.field(ti.i32, ()), Launches()
    LAUNCH_OBSERVERS.append(launches)
    try:
        assert add.launcher((x, 1))[1].make_packer is None
    finally:
        LAUNCH_OBSERVERS.remove(launches)


def test_a_session_runs_what_its_source_of_modules_chooses() -> None:
    class Doubled(GeneratedOnly):
        def choose(self, session: Any, specialization: Any, kinds: Any, compilation: Any, *rest: Any) -> Choice:
            files = tuple(
                replace(f, text=f.text.replace("+= args.n", "+= 2 * args.n")) for f in compilation.module.files
            )
            assert files != compilation.module.files
            return Choice(replace(compilation.module, files=files))

    x = ti.field(ti.i32, ())
    sessions.current().sources = Doubled()
    add(x, 3)
    assert x[None] == 6 and add.last_launch.variant == "generated"


def test_without_another_source_of_modules_the_generated_ones_run() -> None:
    x = ti.field(ti.i32, ())
    sessions.current().sources = GeneratedOnly()
    add(x, 3)
    assert x[None] == 3 and add.last_launch.variant == "generated" and len(add.key(x)) == 16


def test_a_tool_that_nobody_registered_is_named() -> None:
    with pytest.raises(InternalError, match="no tool `nonsense` is registered; there are .*bench"):
        tool("nonsense")


def test_the_pipeline_takes_no_time_and_tells_when_a_stage_has_ended() -> None:
    specialization = add.specialize((ti.field(ti.i32, ()),)).specialization
    stages: list[str] = []
    compilation = compile_kernel(specialization, "c", stage_ended=stages.append)
    assert stages == ["frontend", "passes", "emit"] and compilation.times == {}
    assert list(compile_source(specialization).times) == stages


def test_a_clock_counts_each_stage_from_the_end_of_the_one_before() -> None:
    clock = StageClock()
    clock("one")
    clock("two")
    assert list(clock.times) == ["one", "two"] and all(seconds >= 0 for seconds in clock.times.values())


@pytest.mark.parametrize("arch", [ti.cpu, ti.vulkan, ti.cuda])
def test_the_service_compiles_for_the_session_or_for_another_target(arch: Any) -> None:
    x = ti.field(ti.i32, ())
    request = add.specialize((x,), arch)
    capabilities = request.specialization.capabilities
    again = specialize(add.definition, (x, 2), request.specialization.options, capabilities)
    assert request.target == arch.target and request == again and request.argument_kinds == ("template", "scalar")
    assert compile_source(request.specialization).module.target == arch.target
