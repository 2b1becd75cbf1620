"""`shadesmith diagnose`: lists what is installed, what is missing and how to get it; the facts for a bug report."""

from __future__ import annotations

import argparse
import ctypes
import importlib.metadata
import importlib.util
import os
import platform
import shutil
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np

from ...transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...transpiler.ir.types import i32
from ...transpiler.lang import arch as arches
from ...transpiler.lang.annotations import NDArray
from ..devices.host import compiler as host_compiler
from ..devices.vulkan import device as vulkan
from ..launch.kernel import kernel
from ..session import session
from ..session.starting import init
from .screen import Screen

PACKAGES = ("numpy", "jinja2", "vulkan", "rich", "platformdirs")
OPTIONAL_PACKAGES = ("cupy-cuda13x", "cupy-cuda12x", "nvidia-cuda-nvrtc", "nvidia-cuda-nvdisasm", "pillow", "scipy")
PROBE_SIZE = 1000


@kernel
def probe(x: NDArray[i32, 1], factor: i32):  # type: ignore[no-untyped-def, valid-type]
    """Give every target something to compile and run."""
    for i in x:  # type: ignore[attr-defined]
        x[i] = i * factor  # type: ignore[index]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(options: argparse.Namespace, screen: Screen) -> int:
    """Print what is installed and what is missing; return 0 if at least one compiled target runs a kernel, else 1."""
    if not screen.json:
        return diagnose()
    printed = StringIO()
    with redirect_stdout(printed):
        status = diagnose()
    screen.show_data({"works": status == 0, "text": printed.getvalue().splitlines()})
    return status


def diagnose() -> int:
    """Print the facts a bug report needs; return 0 if at least one compiled target runs a kernel, else 1."""
    print(f"shadesmith {_version('shadesmith') or 'not installed by pip'} in {Path(__file__).parents[2]}")
    print(f"Python {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")
    print("packages: " + ", ".join(f"{name} {_version(name) or f'MISSING: pip install {name}'}" for name in PACKAGES))
    print("optional: " + ", ".join(f"{name} {_version(name) or 'not installed'}" for name in OPTIONAL_PACKAGES))
    for name in ("SHADESMITH_ARCH", "TI_ARCH"):
        if os.environ.pop(name, None) is not None:
            print(f"{name} is set: programs use that target; this command tries each")
    works = [
        _try("ti.cpu", arches.cpu, _host_facts),
        _try("ti.vulkan", arches.vulkan, vulkan.diagnose),
        _try("ti.cuda", arches.cuda, _cuda_facts),
    ]
    print("\n  ".join(["\nwindows and videos:", *_gui_facts()]))
    return 0 if any(works) else 1


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _try(name: str, arch: arches.Arch, facts: Callable[[], list[str]]) -> bool:
    """Compile and run a kernel on a target; print whether it works, or why not, and facts about it."""
    reasons: list[str] = []
    try:
        print(f"\n{name}: works (a kernel was compiled and run in {_run_probe(arch):.2f} s)")
    except (TaichiRuntimeError, TaichiCompilationError) as error:
        lines = error.message.splitlines()
        reasons = [line.strip().removeprefix(f"{arch.name}: ") for line in lines[1:] or lines]
        print("\n  ".join([f"\n{name}: MISSING", *reasons]))
    for line in facts():
        if not any(reason in line for reason in reasons):
            print(f"  {line}")
    return not reasons


def _run_probe(arch: arches.Arch) -> float:
    """Return the time [s] from the call to the result. Raises: TaichiRuntimeError, TaichiCompilationError."""
    init(arch, enable_fallback=False, offline_cache=False, log_level="warn")
    try:
        numbers = np.zeros(PROBE_SIZE, np.int32)
        start = time.perf_counter()
        probe(numbers, 3)
        session.sync()
        seconds = time.perf_counter() - start
    finally:
        session.reset()
    if not np.array_equal(numbers, np.arange(PROBE_SIZE) * 3):
        raise TaichiRuntimeError("The kernel ran, but its result is wrong: the compiler or driver is broken.")
    return seconds


def _gui_facts() -> list[str]:
    """Return what windows and videos need, and whether it is here; without it, pictures are saved instead."""
    display = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    shown = display or "none; windows save their frames as pictures"
    has_tkinter = importlib.util.find_spec("tkinter") is not None and importlib.util.find_spec("_tkinter") is not None
    return [
        f"display: {shown}",
        f"tkinter: {'found' if has_tkinter else 'not found; apt-get install python3-tk, for windows'}",
        f"ffmpeg: {shutil.which('ffmpeg') or 'not found; apt-get install ffmpeg, for videos'}",
    ]


def _host_facts() -> list[str]:
    try:
        return ["compiler: " + " ".join(host_compiler.find_compiler().command)]
    except TaichiRuntimeError:
        return []


def _cuda_facts() -> list[str]:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return ["NVIDIA driver: not found (libcuda.so.1)"]
    return ["NVIDIA driver: found"]
