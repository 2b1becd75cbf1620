"""NVRTC 12.9 to 13.2 lose a negation in the minimum of three numbers: what we compile by them does not."""

from __future__ import annotations

import pytest

from shadesmith.runtime.devices.cuda import nvjitlink, nvrtc, ptxas_defects
from shadesmith.runtime.devices.cuda.cubin import machine_code
from shadesmith.transpiler.errors import TaichiRuntimeError

EXPRESSIONS = {
    "min": ("min(min(a[0], -a[1]), 0)", "min(min(a[0], a[1]), 0)"),
    "max": ("max(max(-a[0], a[1]), b)", "max(max(a[0], a[1]), b)"),
    "select": ("a[0] < -b ? (a[0] < a[2] ? a[0] : a[2]) : (-b < a[2] ? -b : a[2])", "min(min(a[0], b), a[2])"),
    "narrow": ("min(min(short(-a[0]), short(a[1])), short(b))", "min(min(short(a[0]), short(a[1])), short(b))"),
}


@pytest.fixture(autouse=True)
def needs_nvrtc() -> None:
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError:
        pytest.skip("NVRTC is not here")


@pytest.mark.sampled(3, each="name")
@pytest.mark.parametrize("arch", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_negation_makes_a_difference(name: str, arch: str) -> None:
    negated, plain = (machine_code(nvrtc.compile_cubin(source(e), arch)[0]) for e in EXPRESSIONS[name])
    assert negated != plain


def source(expression: str) -> str:
    return f'extern "C" __global__ void k(const int *a, int *o, int b) {{ o[0] = {expression}; }}'


def test_the_instruction_is_found() -> None:
    cubin, _ = nvrtc.compile_cubin(source("min(min(a[0], a[1]), a[2])"), "sm_90")
    other, _ = nvrtc.compile_cubin(source("min(a[0], a[1])"), "sm_90")
    assert ptxas_defects.is_suspect(cubin, "sm_90") and not ptxas_defects.is_suspect(other, "sm_90")
    assert not ptxas_defects.is_suspect(cubin, "sm_80")
    assert not ptxas_defects.is_suspect(b"damaged", "sm_90")


def test_ptx_for_other_drivers_negates_by_complements() -> None:
    ptx = nvrtc.compile_ptx(nvrtc.SourceFile("k.cu", source("min(min(a[0], -a[1]), b)"), ()), "compute_90", True)
    assert b"neg." not in ptx and b"not.b32" in ptx


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_a_negation_makes_a_difference_to_the_linker(name: str) -> None:
    """nvJitLink of CUDA 12.9 to 13.2 has the defect too, and for `0 - x` as for `-x`."""
    if nvjitlink.load_nvjitlink() is None:
        pytest.skip("nvJitLink is not here")
    negated, plain = (assembled(e) for e in EXPRESSIONS[name])
    assert negated and negated != plain


def assembled(expression: str) -> dict[str, bytes]:
    """Return the machine code of an expression by the path that a defect of ptxas takes."""
    ptx = nvrtc.compile_explained(nvrtc.SourceFile("k.cu", source(expression), ()), "sm_90", True).ptx
    result = nvjitlink.assemble(ptxas_defects.without_negations(ptx), "sm_90", nvrtc.verbose_options())
    assert result is not None and "registers" in result.log
    return machine_code(result.cubin)
