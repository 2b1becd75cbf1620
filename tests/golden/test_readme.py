"""README and documents show kernels and what is emitted for them, which may not fall behind."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shadesmith as ti

README = Path(__file__).parents[2] / "README.md"
EXPECTED = Path(__file__).parent / "expected"
HEAD = "import shadesmith as ti\n\n"
"""What stands above README's Python in the file `jacobi.py`, after which banner and comments are named."""


@pytest.fixture
def python() -> Iterator[None]:
    ti.init(arch=ti.python, debug=False, log_level=ti.ERROR)
    yield
    ti.reset()


def block(language: str) -> str:
    """Return README's first block of code in a language."""
    found = re.search(rf"```{language}\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


def test_readme_shows_what_is_emitted(python: None, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    path = tmp_path / "jacobi.py"
    path.write_text(HEAD + block("python"), encoding="utf-8")
    spec = importlib.util.spec_from_file_location("jacobi", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    a, b = ti.ndarray(ti.f32, (8, 8)), ti.ndarray(ti.f32, (8, 8))
    emitted = module.jacobi.source(a, b, 0.5, arch=ti.vulkan)
    if request.config.getoption("--update-golden"):
        README.write_text(README.read_text(encoding="utf-8").replace(block("glsl"), emitted), encoding="utf-8")
    assert block("glsl") == emitted, f"README.md should show:\n{emitted}"


@pytest.mark.parametrize(("document", "kernels"), [("sparse", ("splat", "prune"))])
def test_a_document_shows_lines_of_golden_kernels(document: str, kernels: tuple[str, ...]) -> None:
    text = (README.parent / "docs" / f"{document}.md").read_text(encoding="utf-8")
    golden = {
        line for kernel in kernels for line in (EXPECTED / f"{kernel}.cu").read_text(encoding="utf-8").split("\n")
    }
    shown = [line for code in re.findall(r"```c\n(.*?)```", text, re.DOTALL) for line in code.split("\n")]
    assert [line for line in shown if line not in golden and line.strip() != "..."] == []
