"""Fixtures of the semantics: programs and kernels from a text."""

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import pytest

import shadesmith as ti

NUMBERS = itertools.count()


@pytest.fixture
def define_program() -> Callable[..., dict[str, Any]]:
    """A function that runs a text and returns its names; the names it may use come as keywords."""

    def define(text: str, **names: Any) -> dict[str, Any]:
        file = f"<program of a test {next(NUMBERS)}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space: dict[str, Any] = {"ti": ti, **names}
        exec(compile(text, file, "exec"), space)
        return space

    return define


@pytest.fixture
def define_kernel(define_program: Callable[..., dict[str, Any]]) -> Callable[..., Any]:
    """A function that makes a kernel of the text of one `def`."""

    def define(text: str, **names: Any) -> Any:
        space = define_program(f"@ti.kernel\n{text}", **names)
        return space[text.split("def ", 1)[1].split("(", 1)[0].strip()]

    return define
