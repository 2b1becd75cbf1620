"""Every public callable has a docstring with all its parameters, what it raises, and an example, which runs."""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib.util
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from public_callables import MODULES, public_callables

import shadesmith as ti
from shadesmith.runtime.launch.kernel import Kernel
from shadesmith.runtime.launch.kernel_tools import METHODS_OF_ARGUMENTS
from shadesmith.transpiler.lang.decorators import Func

CALLABLES = public_callables()
METHODS = {f"Kernel.{name}": getattr(Kernel, name) for name in sorted(METHODS_OF_ARGUMENTS | {"ir", "use"})}
NEEDS_SCIPY = {"ti.sparse_matrix_builder", "ti.linalg.SparseMatrix", "ti.linalg.SparseMatrixBuilder"} | {
    "ti.linalg.SparseSolver",
    "ti.linalg.SparseCG",
}
NEEDS_PILLOW = {"ti.tools.imread", "ti.tools.VideoManager"}
MADE_BY_OTHERS = {"session", "element", "self", "pinned"}
"""Parameters of constructors that programs never call."""


def python_function(callable_: Any) -> Callable[..., Any]:
    """Return the Python function whose parameters a user writes."""
    if isinstance(callable_, Func):
        return inspect.unwrap(callable_)
    return callable_


def documentation(callable_: Any) -> str:
    own = inspect.getdoc(callable_) or ""
    constructor = vars(callable_).get("__init__") if isinstance(callable_, type) else None
    return own + "\n" + (inspect.getdoc(constructor) or "" if constructor else "")


def source_of(callable_: Any) -> str:
    """Return the Python of a function, or of a class's constructor; "" for what is generated."""
    function = inspect.unwrap(python_function(callable_))
    constructor = vars(function).get("__init__") if isinstance(function, type) else function
    try:
        return textwrap.dedent(inspect.getsource(constructor)) if inspect.isfunction(constructor) else ""
    except OSError:
        return ""


def missing_parameters(name: str, callable_: Any) -> set[str]:
    text = documentation(callable_)
    names = [p for p in inspect.signature(python_function(callable_)).parameters if not p.startswith("_")]
    if dataclasses.is_dataclass(callable_):  # whose constructor is compiled at its first use
        names = [field.name for field in dataclasses.fields(callable_) if field.init]
    generic = {"args", "kwargs"} if name in METHODS else set()  # "these arguments": those of a call
    return {p for p in names if p not in MADE_BY_OTHERS | generic and not re.search(rf"\b{p}\b", text)}


def test_every_parameter_is_in_the_docstring() -> None:
    found = {name: missing_parameters(name, callable_) for name, callable_ in (CALLABLES | METHODS).items()}
    assert {name: missing for name, missing in found.items() if missing} == {}


def test_what_is_raised_is_in_the_docstring() -> None:
    wrong = []
    for name, callable_ in CALLABLES.items():
        nodes = ast.walk(ast.parse(source_of(callable_)))
        raises = any(isinstance(node, ast.Raise) and node.exc is not None for node in nodes)
        if raises and "Raises" not in documentation(callable_):
            wrong.append(name)
    assert wrong == []


def run_example(name: str) -> list[str]:
    """Run the example of a docstring; return what doctest reports, and a line if there is no example."""
    ti.init(arch=ti.python, log_level="error")
    text = inspect.getdoc(CALLABLES[name]) or ""
    test = doctest.DocTestParser().get_doctest(text, {"ti": ti, "np": np}, name, name, 0)
    messages = [] if test.examples else [f"{name} has no example"]
    doctest.DocTestRunner(verbose=False).run(test, out=messages.append)
    return messages


@pytest.mark.one_target
@pytest.mark.parametrize("module", MODULES)
def test_examples_run(module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [name for name in CALLABLES if name.rpartition(".")[0] == ".".join(filter(None, ("ti", module)))]
    has = {package: importlib.util.find_spec(package) is not None for package in ("scipy", "PIL")}
    skipped = (set() if has["scipy"] else NEEDS_SCIPY) | (set() if has["PIL"] else NEEDS_PILLOW)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHADESMITH_ARCH", "")
    monkeypatch.delitem(sys.modules, "taichi", raising=False)
    with np.printoptions(legacy="1.25"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        messages = [message for name in names if name not in skipped for message in run_example(name)]
        ti.reset()
    assert names and messages == []


@pytest.mark.one_target
def test_examples_of_kernels_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SHADESMITH_ARCH", "")
    messages: list[str] = []
    for name, method in METHODS.items():
        ti.init(arch=ti.cpu, log_level="error")
        test = doctest.DocTestParser().get_doctest(inspect.getdoc(method) or "", {"ti": ti}, name, name, 0)
        doctest.DocTestRunner(verbose=False).run(test, out=messages.append)
    assert messages == []
