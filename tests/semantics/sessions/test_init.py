"""`ti.init` in all its forms: several sessions, architectures and fallbacks, options and variables."""

import gc
import warnings

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime import loading


@pytest.fixture(autouse=True)
def end_session(monkeypatch: pytest.MonkeyPatch):
    for name in ("TI_ARCH", "SHADESMITH_ARCH", "TI_DEFAULT_FP", "TI_DEBUG"):
        monkeypatch.delenv(name, raising=False)
    yield
    ti.reset()


@ti.kernel
def add_one(x: ti.template()):
    for i in x:
        x[i] += 1


def arch() -> object:
    return ti.lang.impl.current_cfg().arch


def test_several_sessions_in_one_process() -> None:
    for number, name in enumerate(("python", "cpu", "vulkan", "python", "cpu")):
        ti.init(arch=getattr(ti, name), log_level=ti.ERROR)
        x = ti.field(ti.i32, 3 + number)
        add_one(x)
        add_one(x)
        assert x.to_numpy().tolist() == [2] * (3 + number)
        assert len(add_one.instances()) == 1


def test_a_later_start_does_not_count_frozen_objects(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that froze 600,000 of them waited 0.1 s in each `ti.init`."""
    counted = []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or 0)
    ti.init(arch=arch(), log_level=ti.ERROR)
    assert counted == []


def test_frozen_objects_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test run with 2,000,000 of them counted them again for each large kernel, 10 ms each time."""
    counted, frozen = [], []
    monkeypatch.setattr(gc, "get_freeze_count", lambda: counted.append(1) or 5)
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(1))
    monkeypatch.setattr(loading, "_has_frozen", False)
    for _ in range(3):
        with loading.without_collections():
            kept = [[] for _ in range(2 * loading.MANY_OBJECTS)]
    assert (len(kept), len(counted), len(frozen)) == (2 * loading.MANY_OBJECTS, 1, 0)


def test_a_field_of_an_ended_session_is_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.i32, 3)
    add_one(x)
    ti.init(arch=ti.python, log_level=ti.ERROR)
    with pytest.raises(ti.TaichiRuntimeError):
        add_one(x)
    with pytest.raises(ti.TaichiRuntimeError):
        x[0] = 1


def test_a_kernel_before_init_says_so() -> None:
    ti.reset()

    @ti.kernel
    def run() -> ti.i32:
        return 3

    try:
        assert run() == 3
    except ti.TaichiRuntimeError as error:
        assert "ti.init" in str(error)


@pytest.mark.parametrize("name", ["metal", "opengl", "gles", "dx11", "dx12", "amdgpu"])
def test_an_architecture_we_lack_falls_back_with_one_warning(name: str) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ti.init(arch=getattr(ti, name))
    assert len([w for w in caught if issubclass(w.category, ti.ShadesmithWarning)]) == 1
    assert arch() == ti.cpu
    with pytest.raises(ti.TaichiRuntimeError, match=name):
        ti.init(arch=getattr(ti, name), enable_fallback=False)


def test_gpu_is_a_list_that_falls_back(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(ti.gpu, list) and ti.cuda in ti.gpu and ti.vulkan in ti.gpu
    monkeypatch.setenv("TI_ENABLE_CUDA", "0")
    monkeypatch.setenv("TI_ENABLE_VULKAN", "0")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ti.init(arch=ti.gpu)
    assert len([w for w in caught if issubclass(w.category, ti.ShadesmithWarning)]) == 1
    assert arch() == ti.cpu


def test_architectures_compare_by_equality() -> None:
    import copy

    names = [
        "cpu",
        "x64",
        "arm64",
        "cuda",
        "vulkan",
        "metal",
        "opengl",
        "gles",
        "dx11",
        "dx12",
        "amdgpu",
        "cc",
        "python",
    ]
    arches = [getattr(ti, name) for name in names]
    assert all(copy.deepcopy(one) == one for one in arches)
    assert ti.cuda != ti.vulkan and ti.vulkan != ti.python
    ti.init(arch=ti.x64, log_level=ti.ERROR)
    assert arch() in (ti.x64, ti.cpu)


def test_an_unknown_option_is_a_key_error() -> None:
    with pytest.raises(KeyError, match="no_such_option, other"):
        ti.init(arch=ti.python, no_such_option=1, other=2)


def test_variables_set_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TI_ARCH", "python")
    monkeypatch.setenv("TI_DEFAULT_FP", "64")
    monkeypatch.setenv("TI_DEBUG", "1")
    monkeypatch.setenv("TI_RANDOM_SEED", "77")
    ti.init(arch=ti.cpu)
    config = ti.lang.impl.current_cfg()
    assert config.arch == ti.python
    assert config.default_fp == ti.f64 and config.debug is True and config.random_seed == 77


def test_a_keyword_wins_over_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TI_DEFAULT_FP", "64")
    with pytest.warns(ti.ShadesmithWarning, match="TI_DEFAULT_FP=64 overridden by ti.init argument"):
        ti.init(arch=ti.python, default_fp=ti.f32)
    assert ti.lang.impl.current_cfg().default_fp == ti.f32


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TI_DEFAULT_FP", "17")
    with pytest.raises(ValueError, match="TI_DEFAULT_FP=17"):
        ti.init(arch=ti.python)


def test_random_seed_repeats_a_stream() -> None:
    def draw(seed: int) -> np.ndarray:
        ti.init(arch=ti.cpu, random_seed=seed, log_level=ti.ERROR)
        x = ti.field(ti.f32, 1000)

        @ti.kernel
        def run():
            for i in x:
                x[i] = ti.random()

        run()
        return x.to_numpy()

    first, again, other = draw(3), draw(3), draw(4)
    assert np.array_equal(first, again) and not np.array_equal(first, other)
    assert 0 <= first.min() and first.max() < 1 and abs(first.mean() - 0.5) < 0.05
    assert len(np.unique(first)) > 990


def test_random_streams_are_equal_on_all_targets() -> None:
    seen = []
    for name in ("cpu", "vulkan", "python"):
        ti.init(arch=getattr(ti, name), random_seed=5, log_level=ti.ERROR)
        x = ti.field(ti.f32, 64)
        n = ti.field(ti.i32, 64)

        @ti.kernel
        def run():
            for i in x:
                x[i] = ti.random()
                n[i] = ti.random(ti.i32)

        run()
        run()
        seen.append((x.to_numpy(), n.to_numpy()))
    for other in seen[1:]:
        assert np.array_equal(seen[0][0], other[0]) and np.array_equal(seen[0][1], other[1])


def test_disabled_passes_change_no_result(target: str) -> None:
    results = []
    for options in ({}, {"advanced_optimization": False}, {"cfg_optimization": False}, {"debug": True}):
        ti.init(arch=getattr(ti, target), log_level=ti.ERROR, **options)
        x = ti.field(ti.i32, 32)

        @ti.kernel
        def run():
            for i in x:
                a = i * 3
                b = i * 3
                if a == b:
                    a += 1
                x[i] = a + b
                x[i] += x[i]

        run()
        results.append(x.to_numpy().tolist())
    assert all(result == results[0] for result in results)
    assert results[0] == [2 * (6 * i + 1) for i in range(32)]


def test_out_of_bounds_is_found_under_debug(target: str) -> None:
    ti.init(arch=getattr(ti, target), debug=True, log_level=ti.ERROR)
    x = ti.field(ti.i32, 8)

    @ti.kernel
    def run(n: ti.i32):
        for i in range(n):
            x[i] = 1

    run(8)
    with pytest.raises(ti.TaichiAssertionError):
        run(9)
        ti.sync()
