"""Kernels and edits that do not end, fault or exhaust something: what each gives, and whether the process survives.

    python tests/support/hostile_kernels.py ARCH             every case in one process
    python tests/support/hostile_kernels.py ARCH CASE ...    these
    python tests/support/hostile_kernels.py ARCH --each 8    each case in a child process, which has 8 seconds
    ... --watchdog 3                                         launches have 3 seconds, not half a second

After each case a small kernel must compute the right number. Lines are `CASE: OUTCOME`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import shadesmith as ti

SECONDS = 0.5
EXTENSION = "#extension GL_EXT_buffer_reference_uvec2 : require\n"
FAR = (1 << 31) - 8
matrix = ti.types.ndarray(ti.f32, 1)
integers = ti.types.ndarray(ti.i32, 1)


@ti.kernel
def endless(x: matrix, n: ti.i32):
    for _ in range(1):
        k = 0
        while x[0] > -1.0:
            k += n
            x[k % 8] += 1.0


@ti.kernel
def endless_parallel(x: matrix, n: ti.i32):
    for i in range(256):
        while x[i % 8] > -1.0:
            x[i % 8] += n


@ti.kernel
def endless_serial(x: matrix, n: ti.i32):
    x[0] = 1.0
    while x[0] > 0.0:
        x[0] += n
    x[1] = 2.0


@ti.kernel
def very_long(x: matrix, n: ti.i64):
    for i in range(64):
        s = 0.0
        j = ti.i64(0)
        while j < n:
            s += ti.sin(s + j)
            j += 1
        x[i % 8] = s


@ti.kernel
def store(x: matrix, k: ti.i32):
    for i in range(4):
        x[k + i] = 1.0


@ti.kernel
def load(x: matrix, k: ti.i32):
    for i in range(4):
        x[i] = x[k + i] + 1.0


@ti.kernel
def add(x: matrix, k: ti.i32):
    for i in range(4):
        ti.atomic_add(x[k + i], 1.0)


@ti.kernel
def divide(x: integers, k: ti.i32):
    for i in range(8):
        x[i] = (x[i] - 5) // k


@ti.kernel
def remainder(x: integers, k: ti.i32):
    for i in range(8):
        x[i] = (x[i] - 5) % k


@ti.kernel
def truncated(x: integers, k: ti.i32):
    for i in range(8):
        x[i] = ti.raw_div(x[i] - 5, k)


@ti.kernel
def shift(x: integers, k: ti.i32):
    for i in range(8):
        x[i] = (x[i] << k) + (x[i] >> k)


@ti.kernel
def cast(x: matrix, y: integers, k: ti.i32):
    for i in range(8):
        y[i] = ti.cast(x[i] * 1e30, ti.i32)


@ti.real_func
def deeper(k: ti.i32) -> ti.i32:
    found = 0
    if k != 0:
        found = deeper(k + 1) * 3 + deeper(k - 1)
    return found + k


@ti.kernel
def recursion(x: matrix, k: ti.i32) -> ti.i32:
    return deeper(k)


@ti.kernel
def recursion_parallel(x: matrix, k: ti.i32):
    for i in range(4096):
        x[i % 8] = deeper(k + i)


@ti.kernel
def barriers(x: matrix, k: ti.i32):
    ti.loop_config(block_dim=64)
    for i in range(64):
        if i < k:
            ti.simt.block.sync()
        x[i % 8] = 1.0


@ti.kernel
def large_local(x: matrix, k: ti.i32):
    for i in range(4):
        v = ti.Vector.zero(ti.f32, 64)
        v[k] = 1.0
        x[i] = v[i]


@ti.real_func
def endless_steps(a: ti.f32, n: ti.i32) -> ti.f32:
    found = a
    while found > -1.0:
        found += n
        if found > 1e6:
            found = 0.0
    return found


@ti.kernel
def endless_function(x: matrix, n: ti.i32):
    for i in range(64):
        x[i % 8] = endless_steps(x[i % 8], n)


@ti.kernel
def endless_sum(x: matrix, n: ti.i32) -> ti.f32:
    total = 0.0
    for i in range(4096):
        k = 0
        while k >= 0:
            total += x[k % 8]
            k = (k + n) % 1000
    return total


@ti.kernel
def endless_prints(x: matrix, n: ti.i32):
    for i in range(2):
        while x[i] > -1.0:
            print("again", x[i], n)


@ti.real_func
def even(k: ti.i32) -> ti.i32:
    local = ti.Vector([k, k + 1, k + 2, k + 3])
    found = local[k % 4]
    if k != 7:
        found += odd(k + 2)
    return found + local[0]


@ti.real_func
def odd(k: ti.i32) -> ti.i32:
    found = k
    if k != 8:
        found += even(k + 2)
    return found


@ti.kernel
def recursion_of_two(x: matrix, k: ti.i32):
    for i in range(64):
        x[i % 8] = even(2 * k * i)


@ti.kernel
def append_on(k: ti.i32):
    for i in range(4):
        while k > 0:
            CELLS.append(i)


CELLS: Any = None


def endless_list() -> None:
    global CELLS
    CELLS = ti.field(ti.i32)
    builder = ti.FieldsBuilder()
    builder.dynamic(ti.i, 1024, chunk_size=32).place(CELLS)
    tree = builder.finalize()
    try:
        append_on(1)
        ti.sync()
    finally:
        tree.destroy()


@ti.kernel(passes="-wide_accesses")
def each(x: matrix, k: ti.i32):
    for i in x:
        x[i] = x[i] + k


@ti.kernel
def plain(x: matrix, k: ti.i32):
    for i in range(8):
        x[i] = x[i] + k


@ti.kernel
def right(n: ti.i32) -> ti.i32:
    s = 0
    for i in range(n):
        s += i
    return s


def floats() -> np.ndarray:
    return ti.ndarray(ti.f32, 8)


def numbers() -> np.ndarray:
    found = ti.ndarray(ti.i32, 8)
    found.from_numpy(np.array([5, -(2**31) + 5, 7, 8, 9, 1, 2, 3], np.int32))
    return found


def edited(kernel, args: tuple, code: dict[str, str]) -> None:
    """Launch a kernel with code before its statement `x(i) = ...`. code: by the suffix of the file."""
    found = kernel.edit(*args)
    for path in [found] if found.is_file() else sorted(found.glob("*.*")):
        text = path.read_text()
        new = re.sub(r"^( *)(x\(i\) (?:=|\+=).*)$", lambda m: f"{code[path.suffix]}\n{m[0]}", text, flags=re.MULTILINE)
        path.write_text(new.replace("#version 460\n", f"#version 460\n{EXTENSION}"))
    try:
        kernel(*args)
        ti.sync()
    finally:
        for path in [found] if found.is_file() else sorted(found.glob("*.*")):
            path.unlink()


def endless_grid() -> None:
    """Launch an edit whose loop over the iterations never goes on."""
    args = floats(), 1
    path = each.edit(*args)
    text = path.read_text()
    new = re.sub(r"index \+= (.+)\)", r"index += \1 * (args.k - 1))", text).replace("i++", "i += args.k - 1")
    assert new != text, text
    path.write_text(new)
    try:
        each(*args)
        ti.sync()
    finally:
        path.unlink()


def same(code: str) -> dict[str, str]:
    return {".c": code, ".cu": code, ".comp": code}


CASES: dict[str, Callable[[], object]] = {
    "endless while of one thread": lambda: endless(floats(), 1),
    "endless while of all threads": lambda: endless_parallel(floats(), 1),
    "endless while in serial code": lambda: endless_serial(floats(), 1),
    "a loop of 2^40 iterations": lambda: very_long(floats(), 1 << 40),
    "near store": lambda: store(floats(), 8),
    "far store": lambda: store(floats(), FAR),
    "store at a negative index": lambda: store(floats(), -FAR),
    "far load": lambda: load(floats(), FAR),
    "far atomic addition": lambda: add(floats(), FAR),
    "integer division by zero": lambda: divide(numbers(), 0),
    "remainder of zero": lambda: remainder(numbers(), 0),
    "smallest integer by -1": lambda: truncated(numbers(), -1),
    "raw division by zero": lambda: truncated(numbers(), 0),
    "shift by too much": lambda: shift(numbers(), 40),
    "cast of a huge float": lambda: cast(floats(), numbers(), 1),
    "endless recursion": lambda: recursion(floats(), 1),
    "endless recursion of all threads": lambda: recursion_parallel(floats(), 1),
    "barrier that some threads miss": lambda: barriers(floats(), 3),
    "a local array": lambda: large_local(floats(), 3),
    "endless while in a function": lambda: endless_function(floats(), 1),
    "endless while in a sum": lambda: endless_sum(floats(), 1),
    "endless prints": lambda: endless_prints(floats(), 1),
    "endless recursion of two functions": lambda: recursion_of_two(floats(), 1),
    "endless appending": endless_list,
    "an array of 2^42 numbers": lambda: ti.ndarray(ti.f32, (1 << 21, 1 << 21)),
    "a field of 2^42 numbers": lambda: ti.field(ti.f32, (1 << 21, 1 << 21)).fill(1.0),
    "endless grid loop of an edit": endless_grid,
    "edit that stores at a negative index": lambda: edited(plain, (floats(), 1), same("x(i - 1000000000) = 1.0f;")),
    "edit that divides by zero": lambda: edited(
        plain,
        (floats(), 1),
        {
            ".c": "x(i) = (float)(7 / (args.k - 1));",
            ".cu": "x(i) = (float)(7 / (args.k - 1));",
            ".comp": "x(i) = float(7 / (args.k - 1));",
        },
    ),
    "endless edit": lambda: edited(plain, (floats(), 1), same("while (args.k == 1) { x(i) += 1.0f; }")),
    "edit that stores at null": lambda: edited(
        plain,
        (floats(), 1),
        {
            ".c": "*(volatile float *)(long)(args.k - 1) = 1.0f;",
            ".cu": "*(volatile float *)(long long)(args.k - 1) = 1.0f;",
            ".comp": "F32(uvec2(args.k - 1, 0)).v[0] = 1.0;",
        },
    ),
    "edit with a large array": lambda: edited(
        plain,
        (floats(), 1),
        {
            ".c": "volatile float big[1 << 24]; big[args.k] = 1.0f; x(i) = big[0];",
            ".cu": "volatile float big[1 << 16]; big[args.k] = 1.0f; x(i) = big[0];",
            ".comp": "float big[64]; for (int q = 0; q < 4; q++) big[q * args.k] = 1.0; x(i) = big[args.k];",
        },
    ),
    "edit that traps": lambda: edited(
        plain,
        (floats(), 1),
        {".c": "__builtin_trap();", ".cu": "__trap();", ".comp": "x(i) = float(1 / (args.k - 1));"},
    ),
}


def outcome(case: str) -> str:
    """Return what a case gives: an error's class and first line, or that it ended."""
    start = time.monotonic()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            CASES[case]()
            ti.sync()
            told = "ended"
        except Exception as error:
            message = " ".join(str(getattr(error, "message", error)).split())
            told = f"{type(error).__name__}: {message}"
    if found:
        told += f" (warning: {' '.join(str(found[0].message).split())[-90:]})"
    return f"{told} [{time.monotonic() - start:.1f} s]"


def start(arch: str, folder: str) -> None:
    """Start a session with a watchdog."""
    sys.stdout.flush()
    ti.init(arch=getattr(ti, arch), watchdog=SECONDS, edits_dir=folder, log_level="warn")
    right(3)


def run(arch: str, cases: list[str]) -> None:
    """Run cases in this process, each with a session."""
    with tempfile.TemporaryDirectory() as folder:
        start(arch, folder)
        for case in cases:
            print(f"{case}: ", end="", flush=True)
            print(outcome(case), end="", flush=True)
            try:
                if right(100) != 4950:
                    print("; AND NOW IT COMPUTES WRONG NUMBERS", end="")
            except Exception as error:
                print(f"; and later launches give {type(error).__name__}", end="")
            print(flush=True)


def run_each(arch: str, cases: list[str], seconds: float) -> None:
    """Run each case in a process of its own."""
    for case in cases:
        begin = time.monotonic()
        process = subprocess.Popen(
            [sys.executable, __file__, arch, case, "--watchdog", str(SECONDS)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            output, errors = process.communicate(timeout=seconds)
            status = process.returncode
            end = f"exit {status}" if status >= 0 else f"KILLED by signal {-status}"
        except subprocess.TimeoutExpired:
            process.kill()
            output, errors = process.communicate()
            end = f"HUNG, ended from outside after {seconds:g} s"
        told = output.strip() or f"{case}: {(errors.strip().splitlines() or ['no word'])[-1][:300]}"
        print(f"{told} -> {end}, {time.monotonic() - begin:.1f} s", flush=True)


if __name__ == "__main__":
    arch, *rest = sys.argv[1:]
    names = [name for name in rest if name in CASES] or list(CASES)
    if "--watchdog" in rest:
        SECONDS = float(rest[rest.index("--watchdog") + 1])
    if "--each" in rest:
        run_each(arch, names, float(rest[rest.index("--each") + 1]))
    else:
        run(arch, names)
