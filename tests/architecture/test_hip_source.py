"""HIP is had as source alone: every kernel of the corpus compiles with HIP's names made of CUDA's."""

from __future__ import annotations

import corpus
import emitted
import pytest
from hip_shim import as_cuda

import shadesmith as ti

OPTIONS = {"plain": {}, "checked": {"debug": True}}


@pytest.fixture(autouse=True)
def without_session():
    yield
    ti.reset()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("maker", corpus.MAKERS, ids=lambda maker: maker.__name__)
def test_nvrtc_accepts_hip_with_the_names_of_its_header(maker, options: str) -> None:
    if tool := emitted.missing_tool(".cu"):
        pytest.skip(f"{tool} is not here")
    ti.init(arch=ti.python, log_level=ti.ERROR, **OPTIONS[options])
    kernel, arguments = maker()
    if not corpus.is_in_hip(maker):
        with pytest.raises(ti.UnsupportedError):
            kernel.source(*arguments, arch=ti.amdgpu)
        return
    module = kernel.inspect(*arguments, arch=ti.amdgpu).module
    assert module.target == "hip"
    for file in module.files:
        assert file.name.endswith(".hip")
        diagnostics = emitted.diagnostics_of(file.name.replace(".hip", ".cu"), as_cuda(file.text))
        assert not diagnostics, f"{diagnostics}\n{file.text}"


def test_half_atomics_are_refused() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x = ti.field(ti.f16, 4)

    @ti.kernel
    def add():
        for i in range(8):
            x[i % 4] += 1.0

    with pytest.raises(ti.UnsupportedError, match="32, 64 bits"):
        add.source(arch=ti.amdgpu)


def test_no_name_of_cuda_is_left() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for maker in corpus.MAKERS:
        if corpus.is_in_hip(maker):
            kernel, arguments = maker()
            source = kernel.source(*arguments, arch="amdgpu")
            assert "cuda" not in source and "_sync(" not in source and "asm(" not in source, source
