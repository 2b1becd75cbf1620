"""CUDA C becomes a cubin without a GPU; mistakes in it are shown with the Python line."""

from __future__ import annotations

import threading

import pytest

from shadesmith.runtime.devices.cuda import device as cuda
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.devices.cuda.cubin import machine_code
from shadesmith.transpiler.backend.module.interface import SourceFile
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

KERNEL = """\
struct Args { float *x_data; float a; int n; };
extern "C" __global__ void __launch_bounds__(128) scale(const Args args) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < args.n) args.x_data[index] *= args.a;
}
"""


@pytest.fixture(autouse=True)
def library():
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError as error:
        pytest.skip(str(error))


def test_a_kernel_becomes_a_cubin_without_warnings():
    cubin, log = nvrtc.compile_cubin(KERNEL)
    assert cubin.startswith(b"\x7fELF") and b"scale" in cubin and log == ""


def test_warnings_are_in_the_log():
    _, log = nvrtc.compile_cubin(KERNEL.replace("int index", "int unused; int index"), name="scale.cu")
    assert 'scale.cu(3): warning #177-D: variable "unused"' in log


def test_a_refused_text_names_the_emitted_and_the_python_line():
    with pytest.raises(TaichiCompilationError) as error:
        nvrtc.compile_cubin(KERNEL.replace("args.a", "args.b"), name="scale.cu", lines=((4, __file__, 1),))
    assert 'scale.cu:4: error: class "Args" has no member "b"' in str(error.value)
    assert f"{__file__}:1" in str(error.value)


def test_an_unknown_architecture_is_reported():
    with pytest.raises(TaichiCompilationError, match="invalid value for --gpu-architecture"):
        nvrtc.compile_cubin(KERNEL, "sm_1")


def test_a_compilation_that_does_not_end_is_an_error(monkeypatch):
    """NVRTC 13.0 and 13.5 optimise a few sources for ever; nothing stops them, but the wait ends, also by Ctrl-C."""
    goes_on = threading.Event()

    class Endless:
        def __getattr__(self, name):
            return getattr(nvrtc.load_nvrtc(), name)

        def nvrtcCompileProgram(self, *arguments):  # noqa: N802
            goes_on.wait()
            return 0

    library = Endless()
    with monkeypatch.context() as patch:
        patch.setattr(nvrtc, "TIME_LIMIT_SECONDS", 0.05)
        with pytest.raises(TaichiCompilationError, match="has not compiled the emitted source scale.cu within"):
            nvrtc._run(library, None, SourceFile("scale.cu", KERNEL, ()), ())
    goes_on.set()
    assert nvrtc.compile_cubin(KERNEL)[0].startswith(b"\x7fELF")


def test_what_the_thread_of_the_compiler_raises_is_raised():
    class Broken:
        def nvrtcCompileProgram(self, *arguments):  # noqa: N802
            raise OSError("exception: access violation")

    with pytest.raises(OSError, match="access violation"):
        nvrtc._run(Broken(), None, SourceFile("scale.cu", KERNEL, ()), ("-arch=sm_90",))


def test_fast_math_decides_on_fused_multiply_add():
    text = KERNEL.replace("*= args.a", "= args.x_data[0] * args.a + args.x_data[1]")
    assert nvrtc.compile_cubin(text, fast_math=True)[0] != nvrtc.compile_cubin(text, fast_math=False)[0]


def test_asking_for_a_gpu_never_raises():
    assert cuda.available() in (True, False)


def test_opening_without_a_gpu_says_what_is_missing():
    if cuda.available():
        pytest.skip("there is a GPU")
    with pytest.raises(TaichiRuntimeError, match="pip install 'shadesmith.cuda.'"):
        cuda.open_device()


def test_a_warm_compiler_compiles_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    source = 'extern "C" __global__ void f(float *x) { x[0] = 1; }'
    before = nvrtc.compile_cubin(source)[0]
    monkeypatch.setattr(nvrtc, "_warm", [])
    nvrtc.warm_up("sm_90")
    nvrtc.warm_up("sm_90")
    (thread,) = nvrtc._warm
    assert nvrtc.compile_cubin(source)[0] == before
    thread.join()


def test_a_missing_compiler_is_reported_by_the_compilation_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise TaichiRuntimeError("NVRTC is missing")

    monkeypatch.setattr(nvrtc, "load_nvrtc", missing)
    monkeypatch.setattr(nvrtc, "_warm", [])
    nvrtc.warm_up("sm_90")
    nvrtc._warm[0].join()
    with pytest.raises(TaichiRuntimeError, match="NVRTC is missing"):
        nvrtc.compile_cubin('extern "C" __global__ void f() {}')


@pytest.mark.parametrize("needs", ["cudaTextureObject_t t", "cudaError_t e", "cudaStream_t s"])
def test_what_the_short_compilation_leaves_out_is_compiled_too(needs):
    text = f'extern "C" __global__ void f(float *x, {needs}) {{ x[0] = 1; }}'
    assert nvrtc.compile_cubin(text)[0].startswith(b"\x7fELF")


def test_kernels_that_are_compiled_in_threads_have_the_same_code(monkeypatch):
    body = "".join(f"    x[{k}] += x[{k + 1}] * x[{k + 2}];\n" for k in range(90))
    text = "".join(f'extern "C" __global__ void f{k}(float *x) {{\n{body}}}\n\n' for k in range(3))
    asked = []
    call = nvrtc._call_compiler
    monkeypatch.setattr(nvrtc, "_call_compiler", lambda *words: asked.append(words[2]) or call(*words))
    split, _ = nvrtc.compile_cubin(text)
    nvrtc.compile_cubin(text.split("\n\n")[0])  # one kernel
    monkeypatch.setattr(nvrtc, "SPLIT", ())
    assert machine_code(split) == machine_code(nvrtc.compile_cubin(text)[0])
    assert [option.startswith("--split") for option in (words[-1] for words in asked)] == [True, False, False]


def test_the_short_compilation_makes_the_same_code(monkeypatch):
    found = nvrtc.compile_cubin(KERNEL)[0]
    monkeypatch.setattr(nvrtc, "MINIMAL", ())
    assert nvrtc.compile_cubin(KERNEL)[0] == found
    monkeypatch.setattr(nvrtc, "MINIMAL", ("--no-such-option",))
    assert nvrtc.compile_cubin(KERNEL)[0] == found
