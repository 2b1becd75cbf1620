"""Compiling takes work in proportion to the size of a kernel. Work is counted as calls of Python functions, not as time."""

from __future__ import annotations

import sys
from pathlib import Path

import growing_kernels
import pytest

import shadesmith as ti
from shadesmith.runtime.cache import compiler
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.transpiler.options import CompileOptions

pytestmark = pytest.mark.exhaustive

LEAN = ("distinct_elements", "fields", "parallel_loops", "struct_members")
SMALL, FACTOR = 20, 4
ALLOWED = 1.3
"""Growth of the work per statement from `SMALL` to `FACTOR` times as many statements; 4 for a quadratic step."""


def calls_of(family: str, size: int, folder: Path) -> int:
    """Return how many Python functions one compilation calls, generators' iterations and builtins included."""
    module = growing_kernels.load(growing_kernels.FAMILIES[family](size), folder)
    definition = module.kernel.definition
    request = compiler.specialize(definition, module.arguments, CompileOptions(), portable("c"))
    count = 0

    def counted(frame, event, argument) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(counted)
    try:
        compiler.compile_source(request.specialization)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "family",
    [
        pytest.param(family, marks=() if family in LEAN else pytest.mark.exhaustive)
        for family in growing_kernels.FAMILIES
    ],
)
def test_work_for_each_statement_stays_the_same(family: str, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    calls_of(family, SMALL, tmp_path)  # what is imported and cached once
    small = calls_of(family, SMALL, tmp_path)
    large = calls_of(family, FACTOR * SMALL, tmp_path)
    assert large < ALLOWED * FACTOR * small
    ti.reset()


def test_choices_may_nest_as_deeply_as_python_allows(tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    for family in ("chain", "nested_choices"):
        module = growing_kernels.load(growing_kernels.FAMILIES[family](800), tmp_path)
        assert module.kernel.source(arch=ti.cpu)
    ti.reset()


@pytest.mark.exhaustive
@pytest.mark.parametrize("terms", [20_000])
def test_sum_of_many_terms(terms: int, tmp_path: Path) -> None:
    """Python compiles so long an expression with a higher limit only; then kernels may have it too."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(terms)
    try:
        module = growing_kernels.load(growing_kernels.FAMILIES["sum_of_terms"](terms), tmp_path)
    except RecursionError:
        pytest.skip("this Python does not compile it")
    finally:
        sys.setrecursionlimit(limit)
    module.kernel.source(*module.arguments, arch=ti.cpu)
    ti.reset()
