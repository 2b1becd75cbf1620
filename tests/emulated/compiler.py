"""Compile emitted CUDA C for the host: the source as it is, inside of a namespace, with checks of what is undefined."""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
COMPILER = ("g++", "-w", "-fPIC", "-shared", "-U_FORTIFY_SOURCE")
"""Ubuntu's compilers fortify by default, and then take a jump to another thread's stack for an error."""
FLAGS = ("-std=c++20", "-ffp-contract=off", "-fno-builtin", "-fvisibility=hidden", "-fno-exceptions", "-fno-rtti")
CHECKS = (
    "-O0", "-g1", "-ftrivial-auto-var-init=pattern",
    "-fsanitize=undefined,float-cast-overflow,kernel-address", "-fno-sanitize=vptr",
    "--param", "asan-stack=0", "--param", "asan-globals=0", "--param", "asan-instrumentation-with-call-threshold=0",
)  # fmt: skip
"""Every load and store is a call: of a check, and a place where another thread may go on."""
OPTIMISED = ("-O3",)
"""As compilers take it that rely on all promises of a source."""
KERNEL = re.compile(r'^extern "C" __global__ void (?:__launch_bounds__\([^)]*\) )?(\w+)\(', re.MULTILINE)
START = """
extern "C" __attribute__((visibility("default"))) void start_{0}(void *const *arguments) {{
    call_with(cuda_c::{0}, arguments);
}}
"""
PTX = {
    r'asm\("rsqrt.approx.ftz.f32 %0, %0;" : "\+f"\((\w+)\)\)': r"\1 = rsqrtf(\1)",
    r'asm\("sqrt.approx.ftz.f32 %0, %0;" : "\+f"\((\w+)\)\)': r"\1 = sqrtf(\1)",
    r'asm\("rcp.approx.ftz.f32 %0, %0;" : "\+f"\((\w+)\)\)': r"\1 = 1 / \1",
}
"""The only parts of a source that are not CUDA C."""
NUMBERS = itertools.count()


@functools.cache
def folder() -> Path:
    """Return the folder of what is compiled, which ends with the process."""
    made = tempfile.TemporaryDirectory(prefix="emulated-cuda-")
    _KEPT.append(made)
    return Path(made.name)


_KEPT: list[tempfile.TemporaryDirectory[str]] = []


@functools.cache
def runtime() -> ctypes.CDLL:
    """Return `runtime.cpp`, compiled and loaded, with its names visible for sources."""
    path = folder() / "runtime.so"
    subprocess.run([*COMPILER, "-O2", "-std=c++17", str(HERE / "runtime.cpp"), "-o", str(path), "-lm"], check=True)
    library = ctypes.CDLL(str(path), mode=ctypes.RTLD_GLOBAL)
    library.emulator_allocate.restype = ctypes.c_size_t
    library.emulator_allocate.argtypes = (ctypes.c_size_t,)
    library.emulator_free.argtypes = (ctypes.c_size_t,)
    library.emulator_launch.restype = ctypes.c_char_p
    library.emulator_launch.argtypes = (
        ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint64,
    )  # fmt: skip
    return library


@functools.cache
def precompiled(flags: tuple[str, ...]) -> Path:
    """Return the header, compiled once for these flags."""
    inside = folder() / f"header_{next(NUMBERS)}"
    inside.mkdir()
    header = inside / "cuda.h"
    header.write_text((HERE / "cuda.h").read_text(encoding="utf-8"), encoding="utf-8")
    command = ["g++", "-w", "-fPIC", *FLAGS, *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
    subprocess.run(command, check=True)
    return header


@dataclass(frozen=True)
class Refused(Exception):
    """The compiler's messages."""

    log: str


def for_host(text: str, name: str) -> str:
    """Return what g++ compiles. Lines keep their numbers."""
    kernels = KERNEL.findall(text)
    for instruction, host in PTX.items():
        text = re.sub(instruction, host, text)
    starts = "".join(START.format(kernel) for kernel in kernels)
    return f'namespace cuda_c {{\n#line 1 "{name}"\n{text}\n}}\n{starts}'


def compile_source(text: str, name: str, flags: tuple[str, ...] = CHECKS) -> Path:
    """Return a library of a source's kernels. Raises: Refused."""
    path = folder() / f"{next(NUMBERS)}.so"
    header = precompiled(flags)
    command = [*COMPILER, *FLAGS, *flags, "-nostdlib", "-include", str(header), "-x", "c++", "-", "-o", str(path)]
    made = subprocess.run(command, input=for_host(text, name), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise Refused(made.stderr)
    return path


def line_of(path: Path, address: int, base: int) -> str:
    """Return the source lines of an address in a loaded library, the innermost first."""
    command = ["addr2line", "-e", str(path), "-i", hex(address - base - 1)]
    return " ".join(subprocess.run(command, capture_output=True, text=True, check=False).stdout.split())
