"""Templates of a project in place of ours: in the source, in the key, with errors that name their lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.transpiler.backend.assemble import render
from shadesmith.transpiler.backend.assemble.render import TEMPLATES

pytestmark = pytest.mark.one_target  # the rest in `make test-all`

OURS = {
    "cpu": ("c/range_for.c.j2", "iteration"),
    "vulkan": ("glsl/range_for.comp.j2", "main"),
    "cuda": ("cuda/range_for.cu.j2", "iteration"),
}


@ti.kernel
def scale(a: ti.f32, x: ti.types.ndarray(ti.f32, 1)):
    for i in x:
        x[i] = a * x[i] + 1.0


@ti.kernel
def total(x: ti.types.ndarray(ti.f32, 1)) -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


def written(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def overriding(name: str, block: str, inside: str) -> str:
    return (
        f'{{% extends "shadesmith/{name}" %}}\n{{% block {block} %}}\n{inside}\n{{{{ super() }}}}\n{{%- endblock %}}\n'
    )


@pytest.mark.parametrize("arch", OURS)
def test_a_block_is_replaced_for_all_kernels(arch: str, tmp_path: Path) -> None:
    name, block = OURS[arch]
    rest = []
    for comment in ("// of our project", "// of another one"):  # with templates of a project a body is a function
        written(tmp_path / comment[3:], name, overriding(name, block, comment))
        ti.init(arch=ti.cpu, templates_dir=str(tmp_path / comment[3:]))
        lines = scale.source(2.0, arch=getattr(ti, arch)).splitlines()
        assert lines.count(comment) == 1
        lines.remove(comment)
        rest.append(lines[1:])
    assert rest[0] == rest[1] and any("x(i)" in line for line in rest[0])


def test_kernels_run_with_them_and_have_other_keys(target: str, tmp_path: Path) -> None:
    keys = set()
    for text in ("// one", "// two", ""):
        for name, block in OURS.values():
            if text:
                written(tmp_path / text[3:], name, overriding(name, block, text))
        options: dict[str, Any] = {"templates_dir": str(tmp_path / text[3:])} if text else {}
        ti.init(arch=getattr(ti, target), **options)
        x = np.ones(100, np.float32)
        scale(2.0, x)
        assert (x == 3).all()
        keys.add(scale.key(2.0, x))
    assert len(keys) == 3
    (tmp_path / "one").rename(tmp_path / "elsewhere")
    ti.init(arch=getattr(ti, target), templates_dir=str(tmp_path / "elsewhere"))
    assert scale.key(2.0, np.ones(100, np.float32)) in keys


def test_the_example_of_the_page_fits_sums_too(tmp_path: Path) -> None:
    page = (TEMPLATES.parent / "docs" / "templates.md").read_text("utf-8")
    written(tmp_path, "c/range_for.c.j2", page.partition("```jinja\n")[2].partition("```")[0])
    ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    x = np.ones(100, np.float32)
    scale(2.0, x)
    assert total(x) == 300 and "schedule(dynamic, 64)" in scale.source(2.0, x)


def test_a_block_that_replaces_none_and_a_template_without_bodies_are_errors(tmp_path: Path) -> None:
    name = "c/range_for.c.j2"
    path = written(tmp_path, name, '{% extends "shadesmith/c/range_for.c.j2" %}\n{% block lop %}{% endblock %}')
    ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    message = rf"{path}:2: `shadesmith/c/range_for.c.j2` has no block `lop`. Hint: did you mean `loop`"
    with pytest.raises(ti.TaichiCompilationError, match=message):
        scale(2.0, np.ones(10, np.float32))
    written(tmp_path, name, "// nothing")
    ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    with pytest.raises(ti.TaichiCompilationError, match="has no `task.head`, or no `task.body`"):
        scale(2.0, np.ones(10, np.float32))


def test_a_whole_template_and_parts(tmp_path: Path) -> None:
    name = "c/range_for.c.j2"
    text = (TEMPLATES / name).read_text()
    written(tmp_path, name, '{% include "parts/head.j2" %}\n' + text)
    written(tmp_path, "parts/head.j2", "// {{ task.entry }}")
    ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    x = np.ones(10, np.float32)
    scale(2.0, x)
    assert (x == 3).all() and "// scale" in scale.source(2.0, x)


@pytest.mark.parametrize(
    ("inside", "line", "message"),
    [
        ("{{ task.nope.more }}", 3, "has no attribute 'nope'"),
        ("{{ 1 / 0 }}", 3, "division by zero"),
        ("{% if %}", 3, "Expected an expression"),
        ('{% include "parts/none.j2" %}', 3, "none.j2"),
        ("{{ task.entry.format(**3) }}", 3, "argument after|must be a mapping"),
    ],
)
def test_mistakes_name_the_line(inside: str, line: int, message: str, tmp_path: Path) -> None:
    path = written(tmp_path, "c/range_for.c.j2", overriding("c/range_for.c.j2", "iteration", inside))
    ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    with pytest.raises(
        ti.TaichiCompilationError, match=rf"{path}:{line}: the template cannot be rendered: .*({message})"
    ):
        scale(2.0, np.ones(10, np.float32))


def test_files_that_replace_nothing_are_refused(tmp_path: Path) -> None:
    path = written(tmp_path, "c/range_fur.c.j2", "")
    with pytest.raises(ValueError, match=f"{path}: shadesmith has no template .* did you mean `c/range_for.c.j2`"):
        ti.init(arch=ti.cpu, templates_dir=str(tmp_path))
    with pytest.raises(ValueError, match="names a folder, and .*none is none"):
        ti.init(arch=ti.cpu, templates_dir=str(tmp_path / "none"))
    path.unlink()
    written(tmp_path, "c/range_for.c.j2", "").write_bytes(b"\xff")
    with pytest.raises(ValueError, match="not UTF-8"):
        ti.init(arch=ti.cpu, templates_dir=str(tmp_path))


DATA: dict[str, Any] = {"structures": [], "prototypes": [], "functions": [{"comment": "", "source": "int f();"}]}


@pytest.mark.parametrize("damage", [None, b"", b"no code"])
def test_code_of_templates_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None) -> None:
    monkeypatch.setattr(render, "CODE", tmp_path / "code")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    compiled: list[str] = []
    compile_template = jinja2.Environment.compile

    def counted(self: jinja2.Environment, source: str, name: str, *rest: object) -> object:
        compiled.append(name)
        return compile_template(self, source, name, *rest)

    monkeypatch.setattr(jinja2.Environment, "compile", counted)
    texts = []
    for _ in range(2):
        render.environment.cache_clear()
        texts.append(render.render("functions.j2", DATA))
        for file in (tmp_path / "code").iterdir() if damage is not None else ():
            file.write_bytes(damage)
    render.environment.cache_clear()
    assert "int f();" in texts[0] == texts[1]
    assert compiled == ["functions.j2"] * (1 if damage is None else 2)
    assert [file.suffix for file in (tmp_path / "code").iterdir()] == [".pyc"]


def test_a_package_that_cannot_be_written_renders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(render, "CODE", tmp_path / "file" / "code")
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    render.environment.cache_clear()
    assert render.render("functions.j2", DATA)
    render.environment.cache_clear()
