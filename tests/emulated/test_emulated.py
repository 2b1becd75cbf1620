"""Emitted CUDA C, run on the host: random programs, and that what CUDA C leaves undefined is found there."""

from __future__ import annotations

import ctypes
import gc
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import numpy as np
import pytest
from emulated import device
from emulated.compiler import CHECKS, compile_source, for_host, runtime
from emulated.device import GRAPHS, Loaded, Memory, Stream
from fuzz.comparing import difference
from fuzz.program import Program
from fuzz.test_fuzz import results

import shadesmith as ti
from shadesmith.runtime.devices.cuda.task_graphs import MOST_SEEN

FIRST_SEED, SEEDS, MANY = 7000, 2, 60
HEAD = """struct Args {
    int *o;
    int n;
};

__device__ inline int twice(int x) {
    return x * 2;
}
"""
KERNEL = """
extern "C" __global__ void __launch_bounds__(64) k{number}(const Args args) {{
    int i = threadIdx.x;
    {body}
}}
"""
UNDEFINED = {
    "args.o[i] = 2147483647 + args.n;": "k.cu:12:.*a signed sum overflows",
    "args.o[i] = args.n << (28 + args.n);": "a shift by the width",
    "args.o[i] = int(1e10f * args.n);": "a float out of the integer's range",
    "args.o[i] = -(args.o[i] - 2147483647 - 1);": "a signed (negation|difference) overflows",  # gcc 12, 13
    "args.o[i] = args.n / (args.n - 4);": "a division by 0",
    "args.o[i + 1] = 1;": r"an access of 4 bytes outside of all memory: .*k.cu:37",
    "args.o[i] = *(long long *)(args.o + 1);": "misaligned",
    "args.o[i] = twice(1 << 30);": "k.cu:7:.*a signed product overflows",
    "if (i < 32) __syncwarp(1u << i | 1u << (i + 1) % 32);": "wait for each other",
    "if (i == 0) args.o[i] = __shfl_sync(1u, args.n, 5);": "a lane that takes no part",
}
DEFINED = {
    "atomicAdd(&args.o[0], i);": [sum(range(64)), *range(1, 64)],
    "args.o[i] = __shfl_down_sync(0xffffffffu, i, 1);": [*range(1, 32), 31, *range(33, 64), 63],
    "args.o[i] = __syncthreads_count(i < 5);": [5] * 64,
    "unsigned odd = __ballot_sync(~0u, i % 2); if (i % 2) args.o[i] = __shfl_sync(odd, i, 1);": [
        i if i % 2 == 0 else 1 + i // 32 * 32 for i in range(64)
    ],
    "__shared__ int s[64]; s[i] = i; __syncthreads(); args.o[i] = s[63 - i];": list(range(63, -1, -1)),
    "args.o[i] = __popc(__match_any_sync(~0u, i / 8));": [8] * 64,
    "if (i < 3) args.o[i] = __popc(__activemask());": [3, 3, 3, *range(3, 64)],
}
LOSES = "args.o[0] += 1;"
BODIES = [*UNDEFINED, *DEFINED, LOSES]


@pytest.fixture(scope="module")
def kernels() -> Loaded:
    """One library of all bodies above."""
    runtime()
    text = HEAD + "".join(KERNEL.format(number=k, body=body) for k, body in enumerate(BODIES))
    return Loaded(None, str(compile_source(text, "k.cu", CHECKS)).encode(), None)


class Arguments(ctypes.Structure):
    """`Args` of `HEAD`."""

    _fields_ = (("o", ctypes.c_void_p), ("n", ctypes.c_int))


def run(kernels: Loaded, body: str) -> list[int]:
    """Run 64 threads on 64 numbers, which are their indices; return them. Raises: EmulatedError."""
    memory = Memory(64 * 4)
    numbers = (ctypes.c_int * 64).from_address(memory.ptr)
    numbers[:] = range(64)
    arguments = Arguments(memory.ptr, 4)
    parameters = (ctypes.c_void_p * 1)(ctypes.addressof(arguments))
    function = kernels.function(f"k{BODIES.index(body)}")
    device.launch(function, 1, 1, 1, 64, 1, 1, 0, 0, ctypes.addressof(parameters), 0)
    return list(numbers)


def test_instructions_of_the_library() -> None:
    """PTX of the CUDA library is compiled as a call or an operation of the host."""
    library = "\n".join(path.read_text() for path in (Path(ti.__file__).parent / "templates/cuda").rglob("*.cuh"))
    assert 'asm("rcp' in library
    assert not re.findall(r'asm\("\w.*', for_host(library, "library.cuh"))


@pytest.mark.parametrize("body", UNDEFINED)
def test_what_is_undefined_ends_the_launch_and_is_located(kernels: Loaded, body: str) -> None:
    with pytest.raises(device.EmulatedError, match=UNDEFINED[body]):
        run(kernels, body)


@pytest.mark.parametrize("body", DEFINED)
def test_threads_exchange_what_cuda_says(kernels: Loaded, body: str) -> None:
    assert run(kernels, body) == DEFINED[body]


def test_an_update_that_should_be_atomic_is_lost(kernels: Loaded) -> None:
    """Threads change at accesses."""
    assert run(kernels, LOSES)[0] < 64


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let sessions of `arch=ti.cuda` run on the host."""
    for name in ("open_device", "compile_cubin", "fill_words", "LoadedCode"):
        monkeypatch.setattr(device.cuda, name, getattr(device.cuda, name))  # as it was, at the end
    monkeypatch.setattr(device.cuda_task_graphs, "Built", device.cuda_task_graphs.Built)  # likewise
    for name in device.sparse.MODULES:
        monkeypatch.setitem(sys.modules, name, None)  # likewise
    device.install()
    yield
    ti.init(arch=ti.python)


@pytest.mark.filterwarnings("ignore")
def test_random_programs_compute_what_the_interpreter_does(emulated: None, full: bool, tmp_path: Path) -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + (MANY if full else SEEDS)):
        path = tmp_path / f"program_{seed}.py"
        path.write_text(Program(seed).text())
        expected = results(path, "python")
        assert difference(results(path, "cuda"), expected) is None, f"python -m fuzz --show {seed}"


def test_block_reductions_join_all_threads(emulated: None) -> None:
    """Of floats in a fixed order, by the last block; of integers by atomic operations."""
    ti.init(arch=ti.cuda, enable_fallback=False)
    x, n = ti.field(ti.f32, 3000), ti.field(ti.i64, ())
    total = ti.field(ti.f32, ())
    x.from_numpy(np.arange(3000, dtype=np.float32))

    @ti.kernel
    def add():
        for i in x:
            total[None] += x[i]
            ti.atomic_max(n[None], ti.cast(x[i], ti.i64))

    add()
    assert total[None] == 3000 * 2999 / 2 and n[None] == 2999


def test_bytes_are_changed_within_their_words(emulated: None) -> None:
    """While other threads change the bytes beside them, by atomic operations and plainly."""
    ti.init(arch=ti.cuda, enable_fallback=False)
    x, y = ti.field(ti.u8, 7), ti.field(ti.i8, 64)

    @ti.kernel
    def f():
        for i in range(640):
            x[i % 7] += 1
            ti.atomic_max(y[i % 64 | 3], i % 100)
            if i < 64 and i % 4 != 3:
                y[i] = ti.cast(i, ti.i8)

    f()
    assert x.to_numpy().tolist() == [640 // 7 + (k < 640 % 7) for k in range(7)]
    assert y.to_numpy().tolist() == [
        k if k % 4 != 3 else max(i % 100 for i in range(640) if i % 64 | 3 == k) for k in range(64)
    ]


def test_launches_that_repeat_are_graphs_and_compute_the_same(emulated: None) -> None:
    ti.init(arch=ti.cuda, log_level="error")
    gc.collect()  # graphs of earlier tests
    total = ti.field(ti.i32, 3)

    @ti.kernel
    def no_argument():
        for i in total:
            total[i] += i

    @ti.kernel
    def move(a: ti.types.ndarray(ti.f32, 1), b: ti.types.ndarray(ti.f32, 1), k: ti.i32):
        for i in b:
            b[i] = a[i] + k

    a, b, short = ti.ndarray(ti.f32, 50), ti.ndarray(ti.f32, 50), ti.ndarray(ti.f32, 0)
    for _ in range(20):
        no_argument()
        move(a, b, 1)
        move(b, a, 2)
        move(a, short, 1)  # nothing to start
    assert len(GRAPHS) == 3
    assert total.to_numpy().tolist() == [0, 20, 40]
    assert (a.to_numpy() == 60.0).all() and (b.to_numpy() == 58.0).all()
    for k in range(2 * MOST_SEEN):
        move(a, b, k)
    assert (b.to_numpy() == 60.0 + 2 * MOST_SEEN - 1).all() and len(GRAPHS) == 3
    for _ in range(20):  # after so many launches that differ, no more graphs are made
        move(a, b, 1)
    assert (b.to_numpy() == 61.0).all() and len(GRAPHS) == 3
    threads = [Thread(target=lambda: [no_argument() for _ in range(50)]) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert total.to_numpy().tolist() == [0, 220, 440]
    with Stream():
        for _ in range(5):
            no_argument()
    assert total.to_numpy().tolist() == [0, 225, 450]
