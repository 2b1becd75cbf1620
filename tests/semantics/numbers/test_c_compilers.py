"""C compilers: loops that gcc 12 miscompiles or crashes on, one memory as two types, and -O0 against -O3."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import compared
import corpus
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.host import compiler as host
from shadesmith.runtime.session import session as sessions
from shadesmith.runtime.workbench.measure.compare import Comparer

WIDE = {"u8": ti.u8, "i16": ti.i16, "u16": ti.u16, "i32": ti.i32, "u32": ti.u32, "i64": ti.i64}


def test_two_maxima_of_one_serial_loop_stay_apart(target: str) -> None:
    """gcc 12.2 with -O3 -march=native -fwrapv gave 101 for both; -O2 with vectorised loops and basic blocks too."""

    @ti.kernel
    def maxima(acc: ti.types.ndarray(ti.i32, 1), o: ti.types.ndarray(ti.i16, 2), g: ti.i32):
        ti.loop_config(serialize=True)
        for i, q in ti.ndrange(6, 2):
            ti.atomic_max(acc[q], q + g)
            o[i, q] = ti.cast(i, ti.i16)

    acc, o = ti.ndarray(ti.i32, 4), ti.ndarray(ti.i16, (6, 2))
    maxima(acc, o, 100)
    assert acc.to_numpy().tolist() == [100, 101, 0, 0]
    assert o.to_numpy().tolist() == [[i, i] for i in range(6)]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("count", [6, 8, 16])
@pytest.mark.parametrize("kept", ["i8", "i16"])
@pytest.mark.parametrize("name", list(WIDE))
def test_two_reductions_of_one_loop_stay_apart(target: str, name: str, kept: str, count: int) -> None:
    """gcc 12.2 joined the lanes of both, or crashed (u32 with 8 bits per iteration), signed and unsigned alike."""
    T, S = WIDE[name], getattr(ti, kept)

    @ti.kernel
    def reduce(o: ti.types.ndarray(S, 1), results: ti.types.ndarray(T, 1), x: T, g: T, h: T):
        ti.loop_config(serialize=True)
        for once in range(1):
            a, b, c, d, e, f, p, q = x, x, x, x, x, x, x, x
            for i in range(count):
                a = ti.max(a, g)
                o[2 * i] = ti.cast(i, S)
                b = ti.max(b, h)
                o[2 * i + 1] = ti.cast(i, S)
            for i in range(count):
                c = ti.min(c, g)
                o[2 * i] = ti.cast(i, S)
                d = ti.min(d, h)
                o[2 * i + 1] = ti.cast(i, S)
            for i in range(count):
                e |= g
                o[2 * i] = ti.cast(i, S)
                f &= h
                o[2 * i + 1] = ti.cast(i, S)
            for i in range(count):
                p += g
                o[2 * i] = ti.cast(i, S)
                q += h
                o[2 * i + 1] = ti.cast(i, S)
            results[0], results[1], results[2], results[3] = a, b, c, d
            results[4], results[5], results[6], results[7] = e, f, p, q

    o, results = ti.ndarray(S, 2 * count), ti.ndarray(T, 8)
    x, g, h = 10, 3, 12
    reduce(o, results, x, g, h)
    expected = [10, 12, 3, 10, x | g, x & h, x + count * g, x + count * h]
    assert results.to_numpy().tolist() == [int(np.array(v).astype(results.to_numpy().dtype)) for v in expected]


@pytest.mark.targets("cpu", "python")
def test_arguments_may_be_views_of_one_memory_with_two_types(target: str) -> None:
    if target not in ("cpu", "python"):
        pytest.skip("other targets copy arrays of the host, each for itself")

    @ti.kernel
    def through_both(words: ti.types.ndarray(ti.i32, 1), numbers: ti.types.ndarray(ti.f32, 1)) -> ti.i32:
        total = 0
        ti.loop_config(serialize=True)
        for i in range(numbers.shape[0]):
            words[i] = 0
            numbers[i] = 1.5
            total += words[i]
        return total

    memory = np.zeros(40, np.int32)
    with np.errstate(over="ignore"):
        one = int(np.float32(1.5).view(np.int32))
    assert through_both(memory, memory.view(np.float32)) == int(np.array(40 * one).astype(np.int32))


def _fill(fields: Any) -> None:
    """Set small numbers of either kind, which are indices in range wherever a kernel takes them as such."""
    random = np.random.default_rng(5)
    for field in fields:
        if isinstance(field, ti.Field) and field.shape:
            values = field.to_numpy()
            if isinstance(values, np.ndarray):
                drawn = random.random(values.shape) * (3 if values.dtype.kind in "iu" else 1)
                field.from_numpy(drawn.astype(values.dtype))


COMPILERS = ["gcc -O0", "gcc-11 -O3", "clang-14 -O3", "clang-16 -O3", "clang-19 -O3"]
"""What is compared with the flags that all programs are compiled with."""


@pytest.mark.exhaustive
@pytest.mark.parametrize("other", COMPILERS)
@pytest.mark.parametrize("maker", [*corpus.MAKERS, *compared.MAKERS], ids=lambda maker: maker.__name__)
def test_compilers_agree_on_the_corpus(maker: Callable[[], Any], other: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """All bits of all memory, with fast_math=False: without it sums may have another order."""
    command, level = other.split()
    if shutil.which(command) is None:
        pytest.skip(f"{command} is not installed")
    ti.init(arch=ti.cpu, fast_math=False, log_level=ti.ERROR, enable_fallback=False)
    kernel, arguments = maker()
    try:
        variants = kernel.variants(*arguments)
    except ti.UnsupportedError:
        pytest.skip("this language has no such thing")
    except ti.TaichiSyntaxError as error:
        assert "Missing argument" in str(error)
        pytest.skip("it is for looking at only")
    _fill(variants.compilation.fields)
    comparer = Comparer(variants, relative=0.0, absolute=0.0)
    module = variants.generated
    files = tuple(replace(file, text=f"{file.text}// {other}\n") for file in module.files)
    flags = host.HostCompiler._flags
    monkeypatch.setattr(host.HostCompiler, "_flags", lambda *args: (*flags(*args), level))
    device = sessions.CURRENT.device
    monkeypatch.setattr(device, "compiler", host.HostCompiler((str(shutil.which(command)),), "gcc" in command))
    try:
        found = comparer.against(other, replace(module, files=files))
    except ti.TaichiCompilationError as error:
        assert "_Float16" in str(error)
        pytest.skip(f"{command} lacks _Float16")
    assert found.passed and not found.out_of_bounds, found
