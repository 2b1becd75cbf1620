"""What `cubin.py` reads against what ptxas says, and what it makes of damaged files."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.devices.cuda.cubin import CubinError, Parameter, global_functions, read_cubin, read_usage
from shadesmith.transpiler.errors import TaichiRuntimeError

EXPECTED = Path(__file__).parents[2] / "golden" / "expected"
ARCHES = ("sm_75", "sm_80", "sm_86", "sm_90", "sm_100", "sm_120")
SPILLING = """
struct Args { float *data; int n; };
extern "C" __global__ void __launch_bounds__(1024) heavy(const Args args) {
    __shared__ float tile[300];
    float held[200];
    #pragma unroll
    for (int k = 0; k < 200; k++) held[k] = args.data[k * 1024 + threadIdx.x];
    tile[threadIdx.x % 300] = held[5];
    __syncthreads();
    #pragma unroll
    for (int k = 0; k < 200; k++) args.data[k] += held[k] * held[199 - k] * tile[k];
}
"""
SHAPES = """
extern "C" __global__ void __block_size__((32, 4, 1)) required(int a, double b, char c) { if (a) a++; }
extern "C" __global__ void __launch_bounds__(192) bounded(float *a) { a[threadIdx.x] = 1; }
extern "C" __global__ void any_size(void) {}
"""


@pytest.fixture(autouse=True)
def needs_nvrtc() -> None:
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError as error:
        pytest.skip(str(error))


def verbose(text: str, arch: str, monkeypatch: pytest.MonkeyPatch) -> tuple[bytes, str]:
    monkeypatch.setattr(nvrtc, "QUIET", nvrtc.verbose_options())
    return nvrtc.compile_cubin(text, arch)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("arch", ARCHES)
def test_registers_shared_memory_and_stack_are_those_ptxas_prints(arch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cubin, log = verbose(SPILLING, arch, monkeypatch)
    found, said = read_cubin(cubin), read_usage(log)["heavy"]
    kernel = found.kernels["heavy"]
    assert found.arch == arch
    assert (kernel.registers, kernel.shared_bytes, kernel.frame_bytes) == (
        said.registers,
        said.shared_bytes,
        said.frame_bytes,
    )
    assert said.shared_bytes == 1200 and said.registers > 16
    assert said.spill_store_bytes > 0 and said.spill_load_bytes > 0
    assert kernel.max_threads == (1024, 1, 1) and kernel.code_bytes > 1000


@pytest.mark.parametrize(("version", "is_cached"), [((12, 4), False), ((12, 9), True), ((13, 5), True)])
def test_what_ptxas_tells_is_never_asked_of_a_cache_that_has_machine_code_only(
    version: tuple[int, int], is_cached: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nvrtc, "version", lambda: version)
    assert ("--no-cache" in nvrtc.verbose_options()) == is_cached  # 12.8 and older refuse the option


def test_parameters_have_their_offsets_and_sizes() -> None:
    kernels = read_cubin(nvrtc.compile_cubin(SHAPES)[0]).kernels
    assert kernels["required"].parameters == (Parameter(0, 0, 4), Parameter(1, 8, 8), Parameter(2, 16, 1))
    assert kernels["required"].parameter_bytes == 17
    assert kernels["required"].required_threads == (32, 4, 1) and kernels["required"].max_threads is None
    assert kernels["bounded"].max_threads == (192, 1, 1) and kernels["bounded"].required_threads is None
    assert kernels["any_size"].parameters == () and kernels["any_size"].max_threads is None


@pytest.mark.sampled(5)
@pytest.mark.parametrize("path", sorted(EXPECTED.glob("*.cu")), ids=lambda path: path.stem)
def test_every_golden_text_has_one_kernel_a_task(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    kernels = read_cubin(nvrtc.compile_cubin(text)[0]).kernels
    assert len(kernels) == text.count('extern "C" __global__')
    assert all(f" {name}(" in text and kernel.registers for name, kernel in kernels.items())


def test_device_functions_are_no_kernels() -> None:
    text = 'extern "C" __device__ __noinline__ float twice(float x) { return 2 * x; }\n' + SHAPES
    cubin = read_cubin(nvrtc.compile_cubin(text)[0])
    assert set(cubin.kernels) == {"required", "bounded", "any_size"}


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_file_gives_a_cubin_error_and_nothing_else(seed: int) -> None:
    whole = nvrtc.compile_cubin((EXPECTED / "particles.cu").read_text(encoding="utf-8"))[0]
    chance = random.Random(seed)
    refused = 0
    for _ in range(300):
        damaged = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.2 else whole)
        for _ in range(chance.choice((1, 1, 4, 64))):
            if damaged:
                place = (
                    chance.randrange(min(len(damaged), 64)) if chance.random() < 0.3 else chance.randrange(len(damaged))
                )
                damaged[place] = chance.choice((0, 0xFF, chance.randrange(256)))
        try:
            read_cubin(bytes(damaged))
        except CubinError:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"\x7fELF" + bytes(60), b"a" * 1000, bytes(200)])
def test_what_is_no_cubin_is_refused(data: bytes) -> None:
    with pytest.raises(CubinError):
        read_cubin(data)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_functions_of_a_host_object_are_those_others_see(tmp_path: Path) -> None:
    text = "static void hidden(void) {} void seen(void) { hidden(); } inline void nowhere(void) {} int data;"
    subprocess.run(["gcc", "-O0", "-c", "-x", "c", "-", "-o", tmp_path / "o"], input=text.encode(), check=True)
    assert global_functions((tmp_path / "o").read_bytes()) == {"seen"}
    with pytest.raises(CubinError, match="for machine"):
        read_cubin((tmp_path / "o").read_bytes())


def test_a_log_without_words_of_ptxas_says_nothing() -> None:
    assert read_usage("kernel.cu(3): warning: unused\n") == {}
