"""Fixtures of the semantics: kernels from a text."""

import itertools
import linecache
from collections.abc import Callable
from typing import Any

import pytest

import shadesmith as ti

NUMBERS = itertools.count()


@pytest.fixture
def define_kernel() -> Callable[..., Any]:
    """A function that makes a kernel of the text of a `def`; the names it may use come as keywords."""

    def define(text: str, **names: Any) -> Any:
        file = f"<kernel of a test {next(NUMBERS)}>"
        text = "@ti.kernel\n" + text
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        space: dict[str, Any] = {"ti": ti, **names}
        exec(compile(text, file, "exec"), space)
        return space[text.split("def ", 1)[1].split("(", 1)[0].strip()]

    return define
