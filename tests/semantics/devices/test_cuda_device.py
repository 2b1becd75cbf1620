"""The CUDA target's device on a GPU: memory, launches on CuPy's current stream, errors."""

from __future__ import annotations

import struct
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from shadesmith.runtime.devices.cuda import device as cuda
from shadesmith.runtime.devices.cuda.submitting import WAVES
from shadesmith.transpiler.backend.module.interface import BackendModule, Interface, SourceFile, TaskSource
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

pytestmark = pytest.mark.gpu

KERNELS = """\
struct Args { float *x_data; float a; int n; };
extern "C" __global__ void __launch_bounds__(128) scale(const Args args) {
    int index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index < args.n) args.x_data[index] *= args.a;
}
extern "C" __global__ void __launch_bounds__(128) scale_strided(const Args args) {
    int total = blockDim.x * gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < args.n; i += total) args.x_data[i] *= args.a;
}
extern "C" __global__ void shift(const Args args) { args.x_data[0] += 1.0f; }
extern "C" __global__ void count_groups(const Args args) { args.x_data[0] = gridDim.x; args.x_data[1] = gridDim.y; }
extern "C" __global__ void stray(const Args args) { ((volatile float *)1024)[0] = args.a; }
"""


STRIDED = ("scale_strided", "count_groups")


def make_module(*entries: str, text: str = KERNELS) -> BackendModule:
    tasks = tuple(
        TaskSource(e, "range_for", e, 0, 128 if e.startswith("scale") else 1, None, strided=e in STRIDED)
        for e in entries
    )
    interface = Interface((), 16, (), (), 0, 0)
    return BackendModule(f"kernel_{entries[0]}", "cuda", (SourceFile("scale.cu", text),), tasks, interface)


@pytest.fixture(scope="module")
def device():
    return cuda.open_device()


def upload(device, values):
    data = np.asarray(values, np.float32)
    memory = device.allocate(data.nbytes)
    device.write(memory, memoryview(data.view(np.uint8)))
    return memory


def download(device, memory):
    data = np.empty(memory.size_bytes // 4, np.float32)
    device.read(memory, memoryview(data.view(np.uint8)))
    return data


def run(device, module, counts, values, a=2.0):
    memory, program = upload(device, values), device.build(module)
    struct.pack_into("=Qfi", program.arguments, 0, memory.address, a, len(values))
    program.submit(counts)
    return download(device, memory)


def test_a_kernel_runs_on_the_packed_arguments(device):
    np.testing.assert_array_equal(run(device, make_module("scale"), (1000,), np.arange(1000)), np.arange(1000) * 2)


def test_tasks_run_in_order(device):
    assert run(device, make_module("scale", "shift", "scale"), (1, 1, 1), [3.0])[0] == 14.0


def test_count_zero_launches_nothing(device):
    assert run(device, make_module("shift"), (0,), [3.0])[0] == 3.0


def test_an_unknown_count_strides(device):
    found = run(device, make_module("scale_strided"), (-1,), np.ones(1_000_000))
    assert (found == 2).all()


def test_a_loop_that_strides_gets_no_more_groups_than_keep_the_gpu_busy(device):
    most = device.resident_threads * WAVES
    assert run(device, make_module("count_groups"), (10 * most,), [0.0, 0.0]).tolist() == [most, 1.0]
    assert run(device, make_module("count_groups"), (250,), [0.0, 0.0]).tolist() == [250.0, 1.0]


def test_arguments_may_change_right_after_submit(device):
    memory, program = upload(device, [1.0]), device.build(make_module("scale"))
    for a in (2.0, 3.0, 5.0):
        struct.pack_into("=Qfi", program.arguments, 0, memory.address, a, 1)
        program.submit((1,))
    assert download(device, memory)[0] == 30.0


def test_memory_is_zeroed_even_if_reused(device):
    for _ in range(3):
        memory = device.allocate(1 << 20)
        assert not download(device, memory).any()
        device.fill(memory, b"\xff")
        device.free(memory)


@pytest.mark.parametrize("pattern", [b"\x07", b"\x01\x02", b"\x01\x02\x03\x04", b"12345678"])
@pytest.mark.parametrize("size_bytes", [64, 3 << 20])
def test_fill_repeats_the_pattern(device, pattern, size_bytes):
    memory = device.allocate(size_bytes)
    device.fill(memory, pattern)
    found = bytearray(size_bytes)
    device.read(memory, memoryview(found))
    assert found == pattern * (size_bytes // len(pattern))


def test_copy_and_offsets(device):
    source, destination = upload(device, [1, 2, 3, 4]), upload(device, [0, 0, 0, 0])
    device.copy(source, destination, 12)
    device.write(destination, memoryview(np.float32([9]).view(np.uint8)), 4)
    part = bytearray(8)
    device.read(destination, memoryview(part), 4)
    assert np.frombuffer(part, np.float32).tolist() == [9.0, 3.0]


def test_launches_follow_cupys_current_stream(device):
    import cupy

    memory, program = upload(device, [1.0]), device.build(make_module("scale"))
    struct.pack_into("=Qfi", program.arguments, 0, memory.address, 2.0, 1)
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        program.submit((1,))
    assert download(device, memory)[0] == 2.0
    stream.begin_capture()
    with stream:
        program.submit((1,))
    graph = stream.end_capture()
    assert download(device, memory)[0] == 2.0
    graph.launch(stream)
    stream.synchronize()  # the device knows of launches through it, not of a graph launched beside it
    assert download(device, memory)[0] == 4.0


def test_too_much_memory_is_refused_with_numbers(device):
    with pytest.raises(
        TaichiRuntimeError, match=r"out of memory on GPU 0: .*\(1,125,899,906,842,624 bytes\), .* available"
    ):
        device.allocate(1 << 50)


def test_a_missing_entry_is_named(device):
    with pytest.raises(TaichiCompilationError, match="scale.cu lacks a kernel"):
        device.build(make_module("other"))


def test_capabilities_name_the_gpu(device):
    extra = dict(device.capabilities.extra)
    assert extra["arch"].startswith("sm_") and extra["device"]


def test_a_stray_write_names_the_kernel_and_debug():
    program = textwrap.dedent(f"""
        import importlib.util, struct, sys
        specification = importlib.util.spec_from_file_location("device_test", {__file__!r})
        test = importlib.util.module_from_spec(specification); specification.loader.exec_module(test)
        device = test.cuda.open_device()
        program = device.build(test.make_module("stray"))
        program.submit((1,))
        try:
            device.synchronize()
        except test.TaichiRuntimeError as error:
            sys.exit(0 if "kernel_stray" in str(error) and "debug=True" in str(error) else str(error))
        sys.exit("no error")
    """)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stderr


def test_a_program_does_not_import_cupy(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import sys
import shadesmith as ti

ti.init(arch=ti.cuda, enable_fallback=False, log_level="error")
x = ti.field(ti.f32, 8)
x.fill(2.0)


@ti.kernel
def add():
    for i in x:
        x[i] += i


add()
print(float(x.to_numpy().sum()), "cupy" in sys.modules)
""")
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert result.stdout == "44.0 False\n"
