"""The command `shadesmith`: `diagnose` says what is there, what is missing and how to get it."""

from __future__ import annotations

import argparse
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Sequence

from ..transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from .devices import cuda, host_compiler, vulkan

PACKAGES = (
    "numpy",
    "jinja2",
    "vulkan",
    "rich",
    "platformdirs",
    "cupy-cuda13x",
    "cupy-cuda12x",
    "nvidia-cuda-nvrtc",
    "pillow",
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return the exit status."""
    parser = argparse.ArgumentParser(prog="shadesmith", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("diagnose", help="say what is there, what is missing and how to get it")
    parser.parse_args(arguments)
    return diagnose()


def diagnose() -> int:
    """Print the facts a bug report needs; return 0 if at least one compiled target works."""
    print(f"Python        {platform.python_version()} on {platform.platform()}, {os.cpu_count()} cores")
    for package in PACKAGES:
        try:
            print(f"{package:<20} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            print(f"{package:<20} not installed")
    works = [_host(), _vulkan(), _cuda()]
    return 0 if any(works) else 1


def _host() -> bool:
    print("\nti.cpu (C target)")
    try:
        compiler = host_compiler.find_compiler()
    except (TaichiRuntimeError, TaichiCompilationError) as error:
        print(f"  missing: {error}")
        return False
    print(f"  compiler: {compiler}")
    return True


def _vulkan() -> bool:
    print("\nti.vulkan")
    facts = vulkan.diagnose()
    for line in facts:
        print(f"  {line}")
    return not any("missing" in line for line in facts)


def _cuda() -> bool:
    print("\nti.cuda")
    if not cuda.available():
        has_cupy = importlib.util.find_spec("cupy") is not None
        print(
            "  missing: no NVIDIA driver (libcuda.so.1) with a GPU"
            if has_cupy
            else "  missing: cupy. pip install 'shadesmith[cuda]'"
        )
        return False
    print("  a GPU is there")
    return True


if __name__ == "__main__":
    sys.exit(main())
