"""Fields of which a thread loads neighbours one after another: their start is aligned in CUDA C."""

from __future__ import annotations

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.devices.cuda.cubin import machine_code
from shadesmith.transpiler.errors import TaichiRuntimeError


def gates(rows: int, length: int, start: int = 0, dtype=ti.f32):
    w, x, y = ti.field(dtype, (3, rows, length)), ti.field(dtype, length), ti.field(dtype, (3, rows))
    w.from_numpy((np.arange(3 * rows * length) % 7 - 3).reshape(3, rows, length))
    x.from_numpy(np.arange(length) % 5)

    @ti.kernel
    def combine():
        for i in range(rows):
            s = ti.Vector([ti.cast(0, dtype) for _ in range(3)])
            for k in range(start, length):
                for g in ti.static(range(3)):
                    s[g] += w[g, i, k] * x[k] + w[g, i, k] % 3
            for g in ti.static(range(3)):
                y[g, i] = s[g]

    return combine, w, x, y


@pytest.mark.parametrize("length", [4, 7, 64])
@pytest.mark.parametrize("dtype", [ti.f32, ti.i64, ti.f16])
def test_results_stay(target: str, length: int, dtype) -> None:
    combine, w, x, y = gates(5, length, dtype=dtype)
    combine()
    w, x = w.to_numpy(), x.to_numpy()
    assert np.array_equal(y.to_numpy(), (w * x + w % 3).sum(axis=2))


def test_the_start_is_aligned_where_rows_are() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = gates(5, 64)[0].source(arch=ti.cuda)
    assert (
        "#define w(i, j, k) aligned(args.w_data)[" in source
        and "#define x(i) aligned(args.x_data)[unsigned(i)]" in source
    )
    assert "#define y(i, j) args.y_data[" in source and source.count("inline Number *aligned(Number *data)") == 1
    assert "aligned(args.w_data)" not in gates(5, 66)[0].source(arch=ti.cuda)  # rows of 264 bytes
    assert "aligned(args.w_data)" in gates(5, 66, dtype=ti.f64)[0].source(arch=ti.cuda)
    assert "aligned(" not in gates(5, 64, start=1)[0].source(arch=ti.cuda)
    assert "aligned(args.w_data)" in gates(5, 64, dtype=ti.f16)[0].source(arch=ti.cuda)
    assert "aligned(args.w_data)" not in gates(5, 12, dtype=ti.f16)[0].source(arch=ti.cuda)  # rows of 24 bytes


def elements(rows: int, length: int):
    """Rows of an element by a static loop with two axes."""
    a, b = ti.field(ti.f32, (50, rows, length)), ti.field(ti.f32, (50, rows, length))
    a.from_numpy((np.arange(50 * rows * length) % 11 - 3).reshape(50, rows, length))

    @ti.kernel
    def double():
        for i in range(50):
            for r, c in ti.static(ti.ndrange(rows, length)):
                b[i, r, c] = a[i, r, c] * 2 + r

    return double, a, b


@pytest.mark.parametrize(("rows", "length", "is_aligned"), [(4, 4, True), (2, 8, True), (4, 3, False), (4, 2, False)])
def test_static_loops_with_several_axes(target: str, rows: int, length: int, is_aligned: bool) -> None:
    double, a, b = elements(rows, length)
    double()
    assert np.array_equal(b.to_numpy(), a.to_numpy() * 2 + np.arange(rows)[:, None])
    assert ("aligned(args.b_data)" in double.source(arch=ti.cuda)) is is_aligned


def sums(n: int, length: int, dtype=ti.f32, parts: int = 4):
    a, b = ti.field(dtype, (n, length)), ti.field(dtype, (n, length))
    a.from_numpy((np.arange(n * length) % 11 - 3).reshape(n, length))

    @ti.kernel
    def add():
        for i in range(n):
            s = a[i, 0]
            for c in ti.static(range(parts)):
                s += a[i, c] * (c + 1)
                b[i, c] = s

    return add, a, b


@pytest.mark.parametrize("length, dtype", [(4, ti.f32), (8, ti.f32), (6, ti.i32), (5, ti.i64)])
def test_elements_side_by_side(target: str, length: int, dtype) -> None:
    add, a, b = sums(37, length, dtype)
    add()
    a = a.to_numpy()
    assert np.array_equal(b.to_numpy()[:, :4], a[:, :1] + np.cumsum(a[:, :4] * np.arange(1, 5), axis=1))


def test_the_start_is_aligned_for_elements_side_by_side() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = sums(37, 8)[0].source(arch=ti.cuda)
    assert "= aligned(args.a_data);" in source and "aligned(args.b_data)[" in source
    assert "aligned(" not in sums(37, 6)[0].source(arch=ti.cuda)  # rows of 24 bytes
    assert "aligned(" not in sums(37, 8, parts=3)[0].source(arch=ti.cuda)  # 12 bytes


def test_what_has_no_hint() -> None:
    """ndarrays, whose start the program chooses; columns; elements of a struct."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    a, s = ti.ndarray(ti.f32, (64, 64)), ti.Struct.field({"v": ti.f32, "w": ti.f32}, shape=64)
    b, c = ti.field(ti.f32, (64, 64)), ti.field(ti.f32, (3, 64))

    @ti.kernel
    def add(a: ti.types.ndarray(ti.f32, 2)):
        for i in range(64):
            p, q, r = 0.0, 0.0, 0.0
            for k in range(64):
                p = ti.sin(p) + a[i, k]
                q = ti.sin(q) + b[k, i]
                r = ti.sin(r) + s[k].w
            c[0, i], c[1, i], c[2, i] = p, q, r

    assert "aligned(" not in add.source(a, arch=ti.cuda)


def scanned(n: int, length: int, serial: bool = False):
    a, b, x_data = ti.field(ti.f32, (n, length)), ti.field(ti.f32, (n, length)), ti.field(ti.f32, length)
    a.from_numpy((np.arange(n * length) % 11 - 3).reshape(n, length))

    @ti.kernel
    def scan():
        if ti.static(serial):
            s = 0.0
            for k in range(length):
                s += a[0, k]
                b[0, k] = s
        else:
            for i in range(n):
                a_data, s = 0.0, 0.0
                for k in range(length):
                    a_data = a[i, k]
                    s += a_data
                    b[i, k] = s
                x_data[i % length] = a_data

    return scan, a, b


@pytest.mark.parametrize("serial", [False, True])
@pytest.mark.parametrize("length", [4, 7, 64])
def test_rows_that_are_loaded_while_others_are_stored(target: str, length: int, serial: bool) -> None:
    scan, a, b = scanned(3, length, serial)
    scan()
    expected = np.cumsum(a.to_numpy(), axis=1)
    assert np.array_equal(b.to_numpy()[: 1 if serial else 3], expected[: 1 if serial else 3])


@pytest.mark.parametrize("serial", [False, True])
def test_their_pointers_are_in_variables(serial: bool) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    text = scanned(300, 64, serial)[0].source(arch=ti.cuda)
    assert "    const float *__restrict__ a_data = aligned(args.a_data);\n" in text
    assert "#define a(i, j) a_data[unsigned(" in text and "__ldg" not in text
    rest = scanned(300, 63, serial)[0].source(arch=ti.cuda)  # rows of 252 bytes
    assert "#define a(i, j) __ldg(&args.a_data[" in rest and "aligned(" not in rest


@ti.kernel
def centred(x: ti.types.ndarray(ti.f32, 2), f: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 2)):
    for i in range(x.shape[0]):
        s = 0.0
        for j in range(x.shape[1]):
            s += x[i, j] * f[i]
        for j in range(x.shape[1]):
            y[i, j] = x[i, j] * f[i] - s


@pytest.mark.parametrize("length", [7, 256])
@pytest.mark.parametrize("is_same", [False, True])
def test_rows_of_ndarrays_that_are_stored_in_place(target: str, length: int, is_same: bool) -> None:
    x, f = (np.arange(3 * length) % 7 - 3).reshape(3, length).astype(np.float32), np.array([2, 3, 4], np.float32)
    y = x if is_same else np.zeros_like(x)
    expected = x * f[:, None] - (x * f[:, None]).sum(axis=1, keepdims=True)
    centred(x, f, y)
    assert np.array_equal(y, expected)


def test_ndarrays_that_are_apart_are_not_loaded_again_after_each_store() -> None:
    """`f`, but not `x`: it may be what is stored, at the same indices."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    x, f = np.zeros((3, 256), np.float32), np.zeros(3, np.float32)
    text = centred.source(x, f, x, arch=ti.cuda)
    assert text.count("y(i, j) = x(i, j) * __ldg(&f(i)) - s;") == 1 and text.count("__ldg") == 1
    assert "y(i, j) = x(i, j) * f(i) - s;" in text  # where they overlap


@pytest.fixture
def has_nvrtc() -> None:
    try:
        nvrtc.load_nvrtc()
    except TaichiRuntimeError:
        pytest.skip("NVRTC is not here")


def loads_of(source: str) -> int:
    """Return how many instructions that load NVRTC makes of a source."""
    return sum(map(_loads, machine_code(nvrtc.compile_cubin(source)[0]).values()))


@pytest.mark.usefixtures("has_nvrtc")
def test_nvrtc_loads_four_at_once() -> None:
    """By the hint the machine code gets shorter: it has a quarter of the loads."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = gates(5, 64)[0].source(arch=ti.cuda)
    plain = source.replace("aligned(args.", "(args.")
    assert loads_of(source) * 3 < loads_of(plain)


@pytest.mark.usefixtures("has_nvrtc")
def test_nvrtc_loads_four_at_once_where_others_are_stored() -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    source = scanned(300, 64)[0].source(arch=ti.cuda)
    plain = source.replace("= aligned(args.", "= (args.")
    assert loads_of(source) * 3 < loads_of(plain)


@pytest.mark.usefixtures("has_nvrtc")
def test_nvrtc_loads_eight_halves_at_once() -> None:
    """Of rows that are chosen by sums: NVRTC finds the neighbours where indices are unsigned."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    keys, query, out = ti.field(ti.f16, (4, 512, 64)), ti.field(ti.f16, (8, 512, 64)), ti.field(ti.f32, (8, 512))

    @ti.kernel
    def scores():
        for h, t in out:
            row = ti.Vector.zero(ti.f32, 64)
            for d in ti.static(range(64)):
                row[d] = query[h, t, d]
            best = -1e30
            for block in range(t // 32 + 1):
                for c in range(32):
                    dot = 0.0
                    for d in ti.static(range(64)):
                        dot += row[d] * keys[h // 2, block * 32 + c, d]
                    best = ti.max(best, dot)
            out[h, t] = best

    code = machine_code(nvrtc.compile_cubin(scores.source(arch=ti.cuda))[0])
    assert sum(map(_loads, code.values())) < 40  # 128 one by one


def _loads(code: bytes) -> int:
    """Return the number of LDG instructions. Their opcode is in the low bits of 16 bytes."""
    return sum((code[k] | code[k + 1] << 8) & 0xFFF == 0x981 for k in range(0, len(code) - 1, 16))
