"""The kernels of tests/golden/kernels, compiled for portable targets without a device."""

from __future__ import annotations

import importlib.util
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler.backend.module.interface import BackendModule
from shadesmith.transpiler.frontend.source.definition import define
from shadesmith.transpiler.frontend.source.specialization import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    Specialization,
    StructArgument,
    texture_argument,
)
from shadesmith.transpiler.ir.types import Struct
from shadesmith.transpiler.lang.textures import RWTextureType, TextureType
from shadesmith.transpiler.options import Capabilities, CompileOptions
from shadesmith.transpiler.pipeline import compile_kernel

FOLDER = Path(__file__).parents[1] / "golden" / "kernels"

RECURSIVE = {"cycles"}
"""Kernels whose functions call themselves, which GLSL cannot."""
KERNELS = sorted(path.stem for path in FOLDER.glob("*.py"))
SUFFIX = {"vulkan": "comp", "cuda": "cu", "c": "c"}
FLOAT_CONTROLS = frozenset({"DenormPreserve 32", "SignedZeroInfNanPreserve 32"})
"""What most drivers of Vulkan have, and `exact.py` shows."""


def load(name: str) -> ModuleType:
    path = FOLDER / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"golden_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def compiled(name: str, target: str, with_derivative: bool = True) -> BackendModule:
    """Return a kernel's module for one target, compiled once for all tests of a process.

    with_derivative: of its gradient, if the file names one.
    """
    return compiled_anew(name, target, with_derivative)


def compiled_anew(name: str, target: str, with_derivative: bool = True) -> BackendModule:
    """Return what `compiled` does, for tests that look at a compilation itself."""
    module = load(name)
    arguments = tuple(_argument(a) for a in module.arguments)
    options = CompileOptions(**getattr(module, "options", {}))
    derivative = getattr(module, "derivative", "") if with_derivative else ""
    definition = define(module.kernel, derivative=derivative)
    return compile_kernel(Specialization(definition, arguments, options, able(target)), target).module


def able(target: str) -> Capabilities:
    """Return what the golden texts are compiled for."""
    return replace(portable(target), float_controls=FLOAT_CONTROLS)


def _argument(type: Any) -> Argument:
    if isinstance(type, tuple):
        return ArrayArgument(*type)
    if isinstance(type, TextureType | RWTextureType):
        return texture_argument(type)
    return StructArgument(type) if isinstance(type, Struct) else ScalarArgument(type)
