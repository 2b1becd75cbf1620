"""The text of small kernels in each language, as files: what a user reads must not change unnoticed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from shadesmith.transpiler.backend.interface import BackendModule
from shadesmith.transpiler.errors import UnsupportedError
from shadesmith.transpiler.frontend.definition import define
from shadesmith.transpiler.frontend.specialization import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    Specialization,
    StructArgument,
)
from shadesmith.transpiler.ir.types import Struct
from shadesmith.transpiler.options import Capabilities, CompileOptions
from shadesmith.transpiler.pipeline import compile_kernel

RECURSIVE = {"cycles"}
"""Kernels whose functions call themselves, which GLSL cannot."""
KERNELS = sorted(path.stem for path in (Path(__file__).parent / "kernels").glob("*.py"))
SUFFIX = {"vulkan": "comp", "cuda": "cu", "c": "c"}
NATIVE = {
    "vulkan": frozenset({("i32", "add"), ("f32", "add")}),
    "cuda": frozenset({("i32", "add"), ("f32", "add")}),
    "c": frozenset({("i32", "add")}),
}


def load(name: str) -> ModuleType:
    path = Path(__file__).parent / "kernels" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"golden_{name}", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compiled(name: str, target: str) -> BackendModule:
    module = load(name)
    arguments = tuple(_argument(a) for a in module.arguments)
    capabilities = Capabilities(
        target,
        atomics=NATIVE[target],
        max_push_bytes=128 if target == "vulkan" else None,
        float_controls=frozenset({"DenormPreserve 32", "SignedZeroInfNanPreserve 32"}),
        recursion=target != "vulkan",
    )
    options = CompileOptions(**getattr(module, "options", {}))
    return compile_kernel(Specialization(define(module.kernel), arguments, options, capabilities), target).module


def _argument(type: Any) -> Argument:
    if isinstance(type, tuple):
        return ArrayArgument(*type)
    return StructArgument(type) if isinstance(type, Struct) else ScalarArgument(type)


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", KERNELS)
def test_emitted_text_is_as_it_was_read(name: str, language: str, golden: Callable[[str, str], None]) -> None:
    if name in RECURSIVE and language == "vulkan":
        with pytest.raises(UnsupportedError, match="halve -> halve"):
            compiled(name, language)
        return
    golden(f"{name}.{SUFFIX[language]}", compiled(name, language).source())


@pytest.mark.parametrize("language", SUFFIX)
def test_jacobi_body_has_three_statements_and_all_names(language: str) -> None:
    text = compiled("jacobi", language).source()
    body = text[text.index("task(") :].split("{", 1)[1].split("\n}\n")[0]
    lines = [line.strip() for line in body.splitlines() if line.strip() and not line.strip().startswith("//")]
    statements = [line for line in lines if line != "}"]
    assert len(statements) == 3
    assert len("".join("".join(lines).split())) <= 150
    for name in ("a(", "b(", "args.w", "i", "j", "s"):
        assert name in body


@pytest.mark.parametrize("language", SUFFIX)
@pytest.mark.parametrize("name", ["jacobi", "nearest"])
def test_line_map_points_at_the_line_below_each_comment(name: str, language: str) -> None:
    file = compiled(name, language).files[0]
    assert file.lines
    lines = file.text.split("\n")
    for emitted, python_file, python_line in file.lines:
        if python_line == 0:
            assert lines[emitted - 2] == "}"
            continue
        assert lines[emitted - 2].strip().startswith(f"// {Path(python_file).name}:{python_line}  ")


def test_interface_is_the_same_on_all_targets() -> None:
    assert len({compiled("jacobi", target).interface for target in SUFFIX}) == 1
