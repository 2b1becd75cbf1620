"""What notebooks show: HTML of our objects, locations in cells, the magics, a tutorial that runs."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.notebook.html import html_of
from shadesmith.transpiler import errors

TUTORIAL = Path(__file__).resolve().parents[2] / "docs" / "notebooks" / "tutorial.ipynb"


@pytest.fixture
def session() -> None:
    ti.init(arch=ti.python, log_level="error")


@ti.kernel
def fill(x: ti.types.ndarray(ti.f32, 2), value: ti.f32):
    for i, j in x:
        x[i, j] = value * i < 3


def test_a_source_is_a_string_in_colours(session: None) -> None:
    source = fill.source(arch=ti.cuda)
    assert type(source)._repr_html_(source).count("<details>") == 1
    assert "&lt;" in source._repr_html_() and source._repr_html_().startswith("<div><button")
    assert pickle.loads(pickle.dumps(source)) == source == str(source) and source.language == "cuda"


def test_an_inspection_shows_all_forms(session: None) -> None:
    shown = fill.inspect(arch=ti.vulkan)._repr_html_()
    assert all(f"<summary>{form}</summary>" in shown for form in ("Python", "frontend", "final"))


@pytest.mark.parametrize("shape", [(), (1,), (3, 4), (32, 24), (2, 3, 4)])
def test_an_array_shows_shape_and_values(session: None, shape: tuple[int, ...]) -> None:
    shown = ti.field(ti.f32, shape)._repr_html_()
    assert escape_of(shape) in shown and ("<img" in shown) == (shape == (32, 24))


def escape_of(shape: tuple[int, ...]) -> str:
    return str(shape)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_counted(session: None, value: float) -> None:
    x = ti.ndarray(ti.f32, (16, 16))
    x.fill(1.0)
    x[2, 3] = value
    assert "1 not finite" in x._repr_html_()


def test_an_array_of_an_ended_session_says_so(session: None) -> None:
    x = ti.field(ti.f32, 4)
    ti.reset()
    assert "<i>" in x._repr_html_()


def test_names_are_escaped(session: None) -> None:
    assert "<script>" not in ti.field(ti.f32, 4, name="<script>")._repr_html_()


def test_empty_arrays_structs_and_vectors_are_shown(session: None) -> None:
    ball = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
    for array in (ti.ndarray(ti.f32, (0, 3)), ball.field(shape=3), ti.Vector.field(3, ti.f32, (32, 32))):
        assert array._repr_html_()


def test_statistics_and_others_have_tables(session: None) -> None:
    assert "<table>" in ti.cache.stats()._repr_html_()
    assert html_of("a < b") == "<pre>a &lt; b</pre>"


def test_errors_name_the_cell(session: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(errors, "CELL_NAMES", [lambda file: "Cell In[10]" if file == __file__ else ""])

    @ti.kernel
    def wrong():
        x = missing  # noqa: F821, F841

    with pytest.raises(ti.TaichiNameError, match=r"^\nCell In\[10\], line \d+, column 13, in wrong:"):
        wrong()


def test_on_compile_is_called_with_each_look_up() -> None:
    events: list[Any] = []
    ti.init(arch=ti.python, log_level="error", on_compile=events.append)

    @ti.kernel
    def count() -> ti.i32:
        return 3

    assert count() == 3 and events and {event.what for event in events} == {"count"}
    events.clear()
    ti.init(arch=ti.python, log_level="error")
    fill.source()
    assert events == []


@pytest.mark.exhaustive
@pytest.mark.one_target
def test_the_tutorial_runs(tmp_path: Path) -> None:
    pytest.importorskip("ipykernel")
    client = pytest.importorskip("nbclient")
    book = pytest.importorskip("nbformat").read(TUTORIAL, as_version=4)
    client.NotebookClient(book, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = json.dumps([cell.get("outputs", []) for cell in book.cells])
    assert "Cell In[11], line 4, column 16, in wrong:" in shown and shown.count("text/html") >= 6
