"""The C target's device: memory, building, launching, forks and threads, with C text written by hand."""

from __future__ import annotations

import gc
import os
import struct
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.host import compiler
from shadesmith.runtime.devices.host import device as host
from shadesmith.runtime.devices.host.device import HostDevice, open_device
from shadesmith.transpiler.backend.module.interface import BackendModule, Interface, SourceFile, TaskSource
from shadesmith.transpiler.errors import TaichiCompilationError, TaichiRuntimeError

SCALE = """\
struct Args {
    float *x_data;
    float a;
    int n;
};
#define x(i) args.x_data[i]
static inline void task(const struct Args args, int i) {
    x(i) = args.a * x(i);
}
void scale(const struct Args *arguments) {
    const struct Args args = *arguments;
    #pragma omp parallel for firstprivate(args)
    for (int i = 0; i < args.n; i++)
        task(args, i);
}
"""


def make_module(text: str = SCALE, entries: tuple[str, ...] = ("scale",), **options: bool) -> BackendModule:
    tasks = tuple(TaskSource(entry, "range_for", entry, 0, 128, None) for entry in entries)
    file = SourceFile("scale.c", text, ((8, __file__, 1),))
    return BackendModule("scale", "c", (file,), tasks, Interface((), 16, (), (), 0, 0), dict(options))


@pytest.fixture
def device() -> HostDevice:
    return open_device()


def run(device: HostDevice, module: BackendModule, values: list[float], a: float = 2.0) -> np.ndarray:
    memory = device.allocate(4 * len(values))
    memory.array.view(np.float32)[:] = values
    program = device.build(module)
    struct.pack_into("=Qfi", program.arguments, 0, memory.address, a, len(values))
    program.submit((len(values),) * len(module.tasks))
    return memory.array.view(np.float32).copy()


def test_a_kernel_runs_on_the_packed_arguments(device):
    np.testing.assert_array_equal(run(device, make_module(), list(range(10_000))), np.arange(10_000) * 2)


def test_tasks_run_in_order(device):
    text = SCALE + "void shift(const struct Args *arguments) { arguments->x_data[0] += 1; }\n"
    assert run(device, make_module(text, ("scale", "shift", "scale")), [3.0])[0] == 14.0


def test_a_long_text_is_compiled_in_parts_that_work_together(device, monkeypatch):
    monkeypatch.setattr(host, "CHARACTERS_PER_COMPILER", 50)
    device.threads = 3
    task = "void {0}(const struct Args *arguments) {{ arguments->x_data[0] = 10 * arguments->x_data[0] + {1}; }}\n"
    entries = [f"scale_{k}" for k in range(5)]
    text = SCALE + "".join(task.format(entry, k) for k, entry in enumerate(entries))
    assert run(device, make_module(text, tuple(entries)), [0.0])[0] == 1234.0


def test_a_program_without_tasks_does_nothing(device):
    assert run(device, make_module("int nothing;\n", ()), [3.0])[0] == 3.0


def test_memory_is_zeroed_and_aligned(device):
    for size in (1, 100, 1 << 20):
        memory = device.allocate(size)
        assert memory.address % 64 == 0 and len(memory.array) == size and not memory.array.any()


def test_bytes_come_back_as_written_at_an_offset(device):
    memory = device.allocate(16)
    device.write(memory, memoryview(b"abcd"), 4)
    target = bytearray(6)
    device.read(memory, memoryview(target), 3)
    assert target == b"\0abcd\0"


@pytest.mark.parametrize("pattern", [b"\x07", b"\x01\x02", b"\x01\x02\x03\x04", b"12345678"])
def test_fill_repeats_the_pattern(device, pattern):
    memory = device.allocate(64)
    device.fill(memory, pattern)
    assert memory.array.tobytes() == pattern * (64 // len(pattern))


def test_copy_moves_as_many_bytes_as_asked(device):
    source, destination = device.allocate(8), device.allocate(8)
    device.fill(source, b"\x05")
    device.copy(source, destination, 6)
    assert destination.array.tolist() == [5] * 6 + [0] * 2


def test_too_much_memory_is_refused_with_numbers(device):
    with pytest.raises(
        TaichiRuntimeError,
        match=r"on the host: .* needs 1024.0 TiB \(1,125,899,906,842,624 bytes\), 0 bytes are in use",
    ):
        device.allocate(1 << 50)
    with pytest.raises(TaichiRuntimeError, match="out of memory on the host"):
        device.allocate(1 << 70)
    assert device.used_bytes == 0


def test_a_view_outlives_free(device):
    memory = device.allocate(8)
    view = memory.array
    device.free(memory)
    view[:] = 1
    assert memory.address == 0 and device.used_bytes == 0


def test_a_refused_text_names_the_emitted_and_the_python_line(device):
    with pytest.raises(TaichiCompilationError) as error:
        device.build(make_module(SCALE.replace("args.a *", "args.b *")))
    assert "scale.c:8: error: " in str(error.value)
    assert "x(i) = args.b * x(i);" in str(error.value)
    assert f"{__file__}:1" in str(error.value)
    assert "The C target's device" in str(error.value)


def test_a_missing_entry_is_named(device):
    with pytest.raises(TaichiCompilationError, match="scale.c lacks a function .* other"):
        device.build(make_module(entries=("other",)))


@pytest.mark.parametrize("fast_math", [True, False])
def test_fast_math_keeps_nan_and_infinity(device, fast_math):
    text = SCALE.replace("args.a * x(i)", "(x(i) != x(i)) + 2.0f * (x(i) - x(i) != x(i) - x(i))")
    found = run(device, make_module(text, fast_math=fast_math), [np.nan, np.inf, 1.0])
    assert found.tolist() == [3.0, 2.0, 0.0]


def test_without_fast_math_sums_keep_their_order(device):
    text = SCALE.replace("args.a * x(i)", "(x(i) + 1e8f) - 1e8f")
    assert run(device, make_module(text, fast_math=False), [1.0])[0] == 0.0


def test_integers_wrap(device):
    text = SCALE.replace("args.a * x(i)", "2147483647 + (int)x(i) < 0 ? 1.0f : 0.0f")
    assert run(device, make_module(text), [1.0])[0] == 1.0


def test_f16_converts_without_the_c_library(device):
    text = SCALE.replace("args.a * x(i)", "(float)(_Float16)x(i)")
    assert run(device, make_module(text), [65519.0, 0.1]).tolist() == [65504.0, np.float16(0.1)]


def test_a_forked_child_can_launch(device):
    program, memory = device.build(make_module()), device.allocate(40_000)
    memory.array.view(np.float32)[:] = 1
    struct.pack_into("=Qfi", program.arguments, 0, memory.address, 2.0, 10_000)
    program.submit((10_000,))
    child = os.fork()
    if child == 0:
        program.submit((10_000,))
        os._exit(int((memory.array.view(np.float32) != 4).any()))
    assert os.waitpid(child, 0)[1] == 0
    program.submit((10_000,))
    assert (memory.array.view(np.float32) == 4).all()


def test_threads_are_limited_as_asked():
    text = "int omp_get_max_threads(void);\n" + SCALE.replace("args.a * x(i)", "omp_get_max_threads()")
    text = text.replace("    #pragma omp parallel for firstprivate(args)\n", "")
    assert run(open_device(threads=3), make_module(text), [0.0])[0] == 3.0
    device = open_device(threads=1)
    assert run(device, make_module(text), [0.0])[0] == 1.0
    device.close()
    assert run(open_device(), make_module(text), [0.0])[0] == len(os.sched_getaffinity(0)), (
        "all again, for whoever comes"
    )


def test_python_threads_launch_side_by_side(device):
    module, results = make_module(), []

    def work() -> None:
        results.append(run(device, module, [1.0] * 5000).sum())

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [10_000.0] * 3


def test_dropped_programs_are_unloaded(device):
    module = make_module()
    program = device.build(module)
    del program
    gc.collect()
    before = Path("/proc/self/maps").read_text().count("kernel.so")
    for _ in range(3):
        device.build(module)
    assert Path("/proc/self/maps").read_text().count("kernel.so") == before


def test_submit_alone_keeps_the_program_loaded(device):
    memory, program = device.allocate(4), device.build(make_module())
    memory.array.view(np.float32)[:] = 1
    struct.pack_into("=Qfi", program.arguments, 0, memory.address, 2.0, 1)
    submit = program.submit
    del program
    gc.collect()
    submit((1,))
    assert memory.array.view(np.float32)[0] == 2.0


def test_without_openmp_a_kernel_runs_on_one_core(device, tmp_path, monkeypatch):
    fake = tmp_path / "gcc-without-openmp"
    fake.write_text(
        '#!/bin/sh\ncase "$*" in *-fopenmp*) echo "cannot read spec file libgomp.spec" >&2; exit 1;; esac\n'
        'exec gcc "$@"\n'
    )
    fake.chmod(0o755)
    monkeypatch.setenv("CC", str(fake))
    device = open_device()
    with pytest.warns(UserWarning, match="no OpenMP"):
        assert run(device, make_module(), [3.0])[0] == 6.0
    assert run(device, replace(make_module(), options={"fast_math": False}), [3.0])[0] == 6.0


def test_a_loop_in_which_gcc_crashes_is_compiled_once_more(own_cache: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """gcc 12 ends with an internal error where it vectorizes some loops."""
    ti.init(arch=ti.cpu, offline_cache=False, log_level=ti.ERROR)
    process = compiler.compiler_process()
    started, run_tools = [], process.run_tools

    def crash_at_first(commands: list, *others: object) -> list:
        started.append(commands)
        if len(started) == 1:
            return [(1, f"{compiler.CRASH}: in finalize")] * len(commands)
        return run_tools(commands, *others)

    monkeypatch.setattr(process, "run_tools", crash_at_first)
    x = ti.field(ti.i32, 70)

    @ti.kernel
    def count():
        for i in x:
            x[i] = i + 1

    count()
    assert x.to_numpy().tolist() == list(range(1, 71))
    assert [compiler.AFTER_CRASH[0] in commands[0] for commands in started] == [False, True]
