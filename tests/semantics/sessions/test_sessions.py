"""`ti.init` and what ends with a session."""

from __future__ import annotations

import logging
import os
import warnings

import pytest

import shadesmith as ti
from shadesmith.runtime.config import EFFECTIVE, OPTIONS, read_config
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.session.session import current, current_config
from shadesmith.transpiler.errors import ShadesmithWarning, TaichiRuntimeError


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch):
    for name in list(os.environ):
        if name.startswith(("TI_", "SHADESMITH_")):
            monkeypatch.delenv(name)
    yield
    ti.reset()


def refuse(reason: str):
    def opener(config: object, software: bool) -> object:
        raise TaichiRuntimeError(reason)

    return opener


def test_an_unknown_option_is_named() -> None:
    with pytest.raises(KeyError, match=r"Unrecognized keyword argument\(s\) for ti.init: foo, bar"):
        ti.init(foo=1, bar=2)


def test_every_option_is_accepted_with_its_default() -> None:
    values = {name: value for name, value in OPTIONS.items() if name != "arch"}
    config, notes = read_config(values, {})
    assert {name: getattr(config, name) for name in values} == {**values, "passes": ()}
    assert notes == ()
    assert set(EFFECTIVE) <= set(OPTIONS)


@pytest.mark.parametrize(
    ("environment", "name", "value"),
    [
        ({"TI_DEBUG": "1"}, "debug", True),
        ({"TI_DEBUG": "2"}, "debug", True),
        ({"TI_DEBUG": ""}, "debug", False),
        ({"TI_OFFLINE_CACHE": "0"}, "offline_cache", False),
        ({"TI_RANDOM_SEED": "7"}, "random_seed", 7),
        ({"TI_DEVICE_MEMORY_GB": "0.5"}, "device_memory_GB", 0.5),
        ({"TI_DEFAULT_FP": "64"}, "default_fp", ti.f64),
        ({"SHADESMITH_DUMP_DIR": "/tmp/x"}, "dump_dir", "/tmp/x"),
        ({"SHADESMITH_DEBUG": "0", "TI_DEBUG": "1"}, "debug", False),
        ({"TI_NONSENSE": "1"}, "debug", False),
    ],
)
def test_variables_set_options(environment: dict, name: str, value: object) -> None:
    assert getattr(read_config({}, environment)[0], name) == value


@pytest.mark.parametrize(
    ("environment", "text"),
    [({"TI_DEBUG": "yes"}, "TI_DEBUG=yes should be 0 or 1"), ({"TI_DEFAULT_FP": "f128"}, "should be 32 or 64")],
)
def test_a_wrong_variable_is_named(environment: dict, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        read_config({}, environment)


def test_a_keyword_wins_over_a_variable_with_a_warning() -> None:
    config, notes = read_config({"opt_level": 2}, {"TI_OPT_LEVEL": "3"})
    assert config.opt_level == 2
    assert notes[0] == 'Environment variable TI_OPT_LEVEL=3 overridden by ti.init argument "opt_level"'
    assert len(notes) == 2 and "without effect" in notes[1]


@pytest.mark.parametrize("option", [{"default_fp": ti.i32}, {"default_ip": ti.i8}, {"random_seed": "7"}])
def test_a_value_of_another_type_is_refused(option: dict) -> None:
    with pytest.raises(TypeError, match=next(iter(option))):
        ti.init(**option)


def test_debug_turns_the_checks_on() -> None:
    options = read_config({"debug": True}, {})[0].compile_options()
    assert (options.debug, options.check_out_of_bound, options.verify) == (True, True, True)


@pytest.mark.parametrize("variable", ["TI_ARCH", "SHADESMITH_ARCH"])
def test_the_environment_chooses_the_arch(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    monkeypatch.setenv(variable, "cc")
    ti.init(arch=ti.vulkan)
    assert current_config().arch == ti.cc


def test_gpu_falls_back_to_the_cpu_with_one_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    for target in ("cuda", "vulkan"):
        monkeypatch.setitem(sessions.OPENERS, target, refuse(f"no {target} here"))
    with pytest.warns(ShadesmithWarning) as caught:
        ti.init(arch=ti.gpu)
    assert len(caught) == 1
    assert "falling back to CPU" in str(caught[0].message)
    assert "no cuda here" in str(caught[0].message) and "no vulkan here" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert current_config().arch == ti.cpu


def test_without_a_c_compiler_kernels_are_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sessions.OPENERS, "c", refuse("apt install gcc"))
    with pytest.warns(ShadesmithWarning, match=r"(?s)falling back to ti\.python.*apt install gcc"):
        ti.init()
    assert current().device.name == "python"


@pytest.mark.parametrize("name", ["metal", "opengl", "dx11", "dx12", "gles", "amdgpu"])
def test_an_arch_without_target_falls_back_or_raises(name: str) -> None:
    with pytest.warns(ShadesmithWarning, match="is not supported, falling back to CPU"):
        ti.init(arch=getattr(ti, name))
    with pytest.raises(RuntimeError, match=rf"Arch=\[<Arch.{name}>\] is not supported"):
        ti.init(arch=getattr(ti, name), enable_fallback=False)


def test_a_variable_hides_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TI_ENABLE_VULKAN", "0")
    with pytest.raises(RuntimeError, match="TI_ENABLE_VULKAN=0"):
        ti.init(arch=ti.vulkan, enable_fallback=False)


def test_objects_of_an_older_session_raise() -> None:
    ti.init(arch=ti.cpu)
    x, y = ti.field(ti.f32, shape=3), ti.ndarray(ti.f32, 3)
    x[0] = 1
    ti.init(arch=ti.cpu)
    for action in (
        lambda: x[0],
        lambda: x.__setitem__(0, 1),
        x.to_numpy,
        lambda: x.fill(1),
        lambda: y.allocation.address,
        lambda: ti.field(ti.f32, shape=3).copy_from(x),
    ):
        with pytest.raises(TaichiRuntimeError, match=r"before the last `ti.init\(\)`"):
            action()


def test_arrays_before_init_raise() -> None:
    ti.reset()
    for action in (lambda: ti.field(ti.f32, 3), lambda: ti.ndarray(ti.f32, 3)):
        with pytest.raises(TaichiRuntimeError, match=r"maybe you forgot to call `ti.init\(\)` first\?"):
            action()
    with pytest.raises(TaichiRuntimeError, match=r"Please call init\(\) first"):
        ti.sync()


@pytest.mark.parametrize(("version", "fits"), [("1.7.3", True), ("1.7", True), ("1.7.4", True), ("9.0.0", False)])
def test_a_required_version_is_checked(version: str, fits: bool) -> None:
    if fits:
        ti.init(require_version=version)
    else:
        with pytest.raises(Exception, match="version mismatch. Required version >= 9.0.0"):
            ti.init(require_version=version)


def test_the_log_level_is_set() -> None:
    ti.init(log_level="debug")
    assert logging.getLogger("shadesmith").isEnabledFor(logging.DEBUG)
    ti.init()
    assert not logging.getLogger("shadesmith").isEnabledFor(logging.DEBUG)
    with pytest.raises(RuntimeError, match=r"Unknown logging level \[nonsense\]"):
        ti.init(log_level="nonsense")


def test_a_quiet_start_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ti.init(arch=ti.cpu)


def test_seeds_differ_from_launch_to_launch_and_repeat_from_run_to_run() -> None:
    ti.init(random_seed=3)
    first = [current().next_seed() for _ in range(1000)]
    ti.init(random_seed=3)
    assert [current().next_seed() for _ in range(1000)] == first
    assert len(set(first)) == 1000
