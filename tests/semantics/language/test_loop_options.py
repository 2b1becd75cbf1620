"""`ti.loop_config(unroll=...)` and `grid_stride=`: what is emitted, and that results stay."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.errors import ShadesmithWarning, TaichiTypeError

LANGUAGES = (ti.cpu, ti.cuda, ti.vulkan)


def horner(unroll, stride):
    @ti.kernel(passes="-block_tiles")
    def polynomial(x: ti.types.ndarray(ti.i32, 1), c: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(grid_stride=stride, block_dim=64)
        for i in x:
            s = 0
            ti.loop_config(unroll=unroll)
            for k in range(c.shape[0]):
                s = s * x[i] + c[k]
            x[i] = s

    return polynomial


@pytest.mark.sampled(2)
@pytest.mark.parametrize("stride", [True, False])
@pytest.mark.parametrize("unroll", [1, 4, True])
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_results_do_not_depend_on_options_of_loops(target: str, size: int, unroll, stride: bool) -> None:
    x, c = np.arange(size, dtype=np.int32) % 11 - 5, np.array([3, -1, 0, 2, 5], np.int32)
    expected = np.polyval(c, x)
    horner(unroll, stride)(x, c)
    assert np.array_equal(x, expected)


def test_hints_to_unroll_are_those_of_each_language() -> None:
    two = {arch: horner(4, True).source(arch=arch) for arch in LANGUAGES}
    every = {arch: horner(True, False).source(arch=arch) for arch in LANGUAGES}
    assert "#pragma unroll 4\n" in two[ti.cuda] and "#pragma unroll\n" in every[ti.cuda]
    assert "#pragma GCC unroll 4\n" in two[ti.cpu] and "#pragma GCC unroll 8\n" in every[ti.cpu]
    assert "unroll" not in two[ti.vulkan] and "[[unroll]] for (int k" in every[ti.vulkan]
    for arch in (ti.cuda, ti.vulkan):
        assert "index += g" in two[arch] and "index +=" not in every[arch]


def test_the_grid_is_an_option_of_the_session_too(monkeypatch: pytest.MonkeyPatch) -> None:
    @ti.kernel
    def double(x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] *= 2

    for given, found in (("1", True), ("0", False)):
        monkeypatch.setenv("SHADESMITH_GRID_STRIDE", given)
        ti.init(arch=ti.python)
        assert ("index += gridDim.x * BLOCK" in double.source(arch=ti.cuda)) is found
    monkeypatch.delenv("SHADESMITH_GRID_STRIDE")
    with pytest.raises(ValueError, match="grid_stride"):
        ti.init(arch=ti.python, grid_stride="sometimes")


def test_options_survive_in_the_text_of_the_ir() -> None:
    text = horner(4, False).ir("final", arch=ti.cuda)
    assert "grid_stride=False" in text and " unroll=4 {" in text
    assert " unroll=all {" in horner(True, None).ir("final", arch=ti.cuda)


def test_wrong_values_are_errors_and_unrolling_of_a_parallel_loop_is_a_warning() -> None:
    for unroll, stride in ((0, None), (-2, None), (2.5, None), (2, 3)):
        with pytest.raises(TaichiTypeError, match="unroll|grid_stride"):
            horner(unroll, stride).source(arch=ti.cuda)

    @ti.kernel
    def fill(x: ti.types.ndarray(ti.f32, 1)):
        ti.loop_config(unroll=4)
        for i in x:
            x[i] = 1.0

    with pytest.warns(ShadesmithWarning, match="this one is parallel"):
        ti.init(arch=ti.python)
        fill(np.zeros(3, np.float32))
