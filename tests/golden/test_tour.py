"""The contributors' tour shows real output of each stage; `--update-golden` writes it into the page."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import shadesmith as ti

GUIDE = Path(__file__).parents[2] / "docs" / "contributing"
ROOT = GUIDE.parents[1]
PROGRAM = """\
import shadesmith as ti

@ti.func
def clamp01(v):
    return ti.min(ti.max(v, 0.0), 1.0)

@ti.kernel
def brighten(image: ti.types.ndarray(ti.f32, 1), gain: ti.f32) -> ti.i32:
    saturated = 0
    for i in image:
        v = clamp01(image[i] * gain * 1.0)
        if v == 1.0:
            saturated += 1
        image[i] = v
    return saturated
"""
NOT_MERGED = {"transpiler/passes/arithmetic/negate.py", "tests/passes/arithmetic/test_negate.py"}
"""Files of the recipe for a pass."""
BLOCK = re.compile(r"(<!-- output: ([\w ]+) -->\n```\w+\n)(.*?)(```\n)", re.DOTALL)


@pytest.fixture
def shown(tmp_path: Path) -> Iterator[dict[str, str]]:
    """What each marker of the page stands for."""
    path = tmp_path / "brighten.py"
    path.write_text(PROGRAM)
    spec = importlib.util.spec_from_file_location("brighten", path)
    assert spec is not None and spec.loader is not None
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    ti.init(arch=ti.python, debug=False, log_level=ti.ERROR)
    kernel, arguments = program.brighten, (ti.ndarray(ti.f32, 4), 2.0)
    specialization = kernel.inspect(*arguments, arch=ti.cpu).specialization
    cuda = kernel.source(*arguments, arch=ti.cuda)
    members = kernel.inspect(*arguments, arch=ti.cpu).module.interface.members
    yield {
        "python": PROGRAM,
        "specialization": f"{kernel.__name__}({', '.join(map(str, specialization.arguments))})\n",
        **{
            f"ir {form}": kernel.ir(form, *arguments, arch=ti.cuda)
            for form in ("frontend", "lowered", "tasks", "final")
        },
        "source cuda loop": cuda[cuda.index("// brighten.py:10  for i in image:") :].rstrip() + "\n",
        "source c": kernel.source(*arguments, arch=ti.cpu),
        "interface": "".join(
            f"{m.offset_bytes:3} {m.size_bytes} {m.type:4} {m.name:12} {' '.join(map(str, m.source))}\n"
            for m in members
        ),
    }
    ti.reset()


def test_the_tour_shows_what_each_stage_gives(shown: dict[str, str], request: pytest.FixtureRequest) -> None:
    page = GUIDE / "tour.md"
    text = page.read_text(encoding="utf-8")
    current = BLOCK.sub(lambda found: found[1] + shown[found[2]].rstrip("\n") + "\n" + found[4], text)
    if request.config.getoption("--update-golden"):
        page.write_text(current, encoding="utf-8")
    assert {found[2] for found in BLOCK.finditer(text)} == set(shown)
    assert page.read_text(encoding="utf-8") == current


@pytest.mark.parametrize("page", sorted(GUIDE.glob("*.md")), ids=lambda page: page.stem)
def test_every_path_in_the_guide_exists(page: Path) -> None:
    tops = ("", "transpiler/", "transpiler/frontend/", "transpiler/backend/", "runtime/", "templates/")
    names = set(re.findall(r"`([\w/.*]+/[\w/.*]*)`", page.read_text(encoding="utf-8"))) - NOT_MERGED
    for name in sorted(names):
        assert any(list(ROOT.glob((top + name).rstrip("/"))) for top in tops), f"{page.name} names {name}"
