"""An edited IR text and an edited template on their whole way: cache, comparison, merge, archive, wheel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import written_programs

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container
from shadesmith.transpiler.backend.assemble.render import TEMPLATES

SCALE = """
@ti.kernel
def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = a * x[i] + 1.0
"""
OWN = {
    "cpu": ("c/range_for.c.j2", "    {{ task.pragma }}", "    @\n    #pragma omp parallel for schedule(dynamic, 64)"),
    "vulkan": (
        "glsl/range_for_main.comp.j2",
        "for (uint index = gl_GlobalInvocationID.x; index < {{ task.count }};",
        "uint index = gl_GlobalInvocationID.x;  @\n    for (; index < {{ task.count }};",
    ),
    "cuda": ("cuda/range_for.cu.j2", "for (unsigned index =", "@\n    #pragma unroll 4\n    for (unsigned index ="),
}
"""A template of a project for each target: its name, a text of ours, what stands in place of it; `@` is a comment."""
MARK = {"cpu": "schedule(dynamic, 64)", "vulkan": "for (; index < uint(args.x_n);", "cuda": "#pragma unroll 4"}
WRONG = {
    "cpu": (
        "{{ line }}\n{% endfor %}\n{% endblock %}\n}",
        "{{ line.replace('i = 0', 'i = 1') }}\n{% endfor %}\n{% endblock %}\n}",
    ),
    "vulkan": ("; index < {{ task.count }}; index +=", "; index + 1 < {{ task.count }}; index +="),
    "cuda": ("; index < {{ task.count }}; index +=", "; index + 1 < {{ task.count }}; index +="),
}
"""The first or last element is left alone."""

Run = Callable[..., list[Any]]


@pytest.fixture
def run(target: str, tmp_path: Path, own_cache: None) -> Run:
    """Return a function that calls `scale` in a new session; it returns numbers, the variant, how often we compiled."""
    if target == "python":
        pytest.skip("the interpreter runs no text")

    def new_session(folder: Path = tmp_path, **options: Any) -> list[Any]:
        ti.init(arch=getattr(ti, target), offline_cache_file_path=str(tmp_path / "cache"), **options)
        scale = written_programs.load(folder / "p.py").scale
        before, x = counts(), ones()
        scale(2.0, x)
        after, (number,) = counts(), set(x)
        return [float(number), scale.last_launch.variant, *(b - a for a, b in zip(before, after, strict=True))]

    return new_session


def counts() -> tuple[int, int]:
    found = ti.cache.stats()
    return found.frontend_runs, sum(found.compiler_runs.values())


def ones() -> np.ndarray:
    return np.ones(100, np.float32)


def of_archive(kernel: Any, target: str) -> dict[str, bytes]:
    module = ti.aot.Module(getattr(ti, target))
    module.add_kernel(kernel)
    return module.members()


def call_archived(members: dict[str, bytes]) -> float:
    """Run `scale` of an archive on ones; return the number."""
    x = ones()
    ti.aot.load(write_container(members)).scale(2.0, x)
    (number,) = set(x)
    return float(number)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_an_edited_ir_text(target: str, run: Run, tmp_path: Path) -> None:
    kernel = written_programs.write(tmp_path / "p.py", SCALE).scale
    path = kernel.edit(2.0, ones(), form="ir")
    assert run()[:2] == [3.0, "generated"]
    # compared: 2 x + 1 by two additions, and another constant
    written_programs.replaced(path, "mul $a, $load_x", "add $load_x, $load_x")
    assert kernel.compare(2.0, ones(), in_process=True, sweep=False).passed
    written_programs.replaced(path, "const 1.0", "const 1.5")
    assert not kernel.compare(2.0, ones(), in_process=True).passed
    # kept: the second session compiles nothing
    assert run()[:2] == [3.5, "edit"]
    assert run() == [3.5, "edit", 0, 0]
    # merged: another line of the Python changes
    kernel = written_programs.write(tmp_path / "p.py", SCALE.replace("+ 1.0", "+ 1.0\n        x[i] *= 3.0")).scale
    with pytest.raises(ti.EditError, match="merge"):
        kernel(2.0, ones())
    (proposal,) = kernel.variants(2.0, ones()).proposals["edit"]
    proposal.accept("a test")
    assert run()[:2] == [10.5, "edit"]
    # shipped: beside the program elsewhere, and in an archive
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "p.py").rename(elsewhere / "p.py")
    (tmp_path / "edits").rename(elsewhere / "edits")
    assert run(elsewhere)[:2] == [10.5, "edit"]
    assert call_archived(of_archive(written_programs.load(elsewhere / "p.py").scale, target)) == 10.5


def test_an_edited_template(target: str, run: Run, tmp_path: Path) -> None:
    written_programs.write(tmp_path / "p.py", SCALE)
    name, ours, theirs = OWN[target]
    options = {"templates_dir": str(tmp_path / "templates")}

    def begin(comment: str = "today", old: str = ours, new: str = theirs) -> Any:
        """Write our template with another text in it, and return the kernel in a session that uses it."""
        text = (TEMPLATES / name).read_text("utf-8")
        assert old in text, text
        path = tmp_path / "templates" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace(old, new.replace("@", f"// of {comment}")))
        ti.init(arch=getattr(ti, target), **options)
        return written_programs.load(tmp_path / "p.py").scale

    # kept: the second session compiles nothing, another text is compiled
    assert MARK[target] in begin().source(2.0, ones())
    assert run(**options)[:2] == [3.0, "generated"]
    assert run(**options) == [3.0, "generated", 0, 0]
    begin("tomorrow")
    assert run(**options)[2:] != [0, 0]
    # compared with what our own templates give
    found = begin().compare(2.0, ones(), in_process=True)
    assert found.passed and found.variant == "templates" and len(found.sizes) > 3, str(found)
    wrong = begin("no day", *WRONG[target])
    found = wrong.compare(2.0, ones(), in_process=True, variant="templates")
    assert not found.passed and found.outputs["x"].count, str(found)
    # merged: an edit of the source that was begun before the template changes
    path = begin().edit(2.0, ones())
    written_programs.replaced(path, "+ 1.0", "+ 5.0")
    assert run(**options)[:2] == [7.0, "edit"]
    for proposal in begin("tomorrow").variants(2.0, ones()).proposals["edit"]:
        proposal.accept("a test")
    assert run(**options)[:2] == [7.0, "edit"]
    assert "// of tomorrow" in path.read_text() and MARK[target] in path.read_text()
    # shipped: an archive has the source of the templates
    path.unlink()
    members = of_archive(begin(), target)
    assert any(MARK[target].encode() in data for data in members.values())
    assert call_archived(members) == 3.0
