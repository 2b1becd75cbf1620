"""Every name of Taichi 1.7.4: it exists, or one sentence says with which issue it comes.

The names are those of Taichi's modules and classes by introspection (tests/data/taichi_names.txt).
"""

from __future__ import annotations

import inspect
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

import shadesmith as ti
from shadesmith.runtime.config import Config
from shadesmith.transpiler.errors import NotYetError


def read_names() -> list[tuple[str, str]]:
    """Return pairs of a section's title and a name of it."""
    pairs: list[tuple[str, str]] = []
    title = ""
    for line in (Path(__file__).parents[1] / "data" / "taichi_names.txt").read_text().splitlines():
        if line.startswith("["):
            title = line[1 : line.index("]")]
        else:
            pairs += [(title, name) for name in line.split()]
    return pairs


NAMES = read_names()
MODULES = list(
    dict.fromkeys(title for title, _ in NAMES if title == "ti" or title.startswith("ti.") and " " not in title)
)
OPTIONS = {field.name for field in fields(Config)} | {"enable_fallback", "require_version"}


def find(path: str) -> Any:
    """Return what `path` names. Raises: NotYetError where a part of it is a later issue's."""
    owner: Any = ti
    for part in path.split(".")[1:]:
        owner = getattr(owner, part)
    return owner


def check(path: str) -> None:
    try:
        find(path)
    except NotYetError as error:
        assert " is not in this version of shadesmith; see docs/status.md: " in str(error)
        assert "issue" in error.message and error.message.endswith(" of the roadmap") and error.hint
        assert "None" not in str(error)


@pytest.mark.parametrize("module", MODULES)
def test_names_exist_or_name_their_issue(module: str) -> None:
    for title, name in NAMES:
        if title == module:
            check(f"{module}.{name}")


def owners() -> dict[str, Any]:
    """Return an object for each class of the list."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    vector = ti.math.vec3
    return {
        "Matrix/Vector methods (+ swizzles xyzw, rgba, stpq of 1 to 4)": ti.Matrix,
        "ScalarField": ti.field(ti.f32, 3),
        "MatrixField": vector.field(3),
        "ScalarNdarray": ti.ndarray(ti.f32, 3),
        "MatrixNdarray": ti.ndarray(vector, 3),
        "SNode": ti.root,
        "Struct": ti.Struct,
        "StructField": ti.Struct.field({"a": ti.f32}, shape=3),
        "Texture": ti.Texture,
    }


CLASSES = [title for title, _ in NAMES if title[0].isupper()]


@pytest.mark.parametrize("title", sorted(set(CLASSES)))
def test_members_exist(title: str) -> None:
    owner = owners()[title]
    names = [name for owner_title, name in NAMES if owner_title == title]
    assert names and [name for name in names if not hasattr(owner, name)] == []


def test_options_of_init_exist() -> None:
    wanted = {name for title, name in NAMES if title in ("ti.init / ti.cfg options", "ti.init extras")}
    assert sorted(wanted - OPTIONS) == []


def test_options_of_loops_exist() -> None:
    wanted = {name for title, name in NAMES if title == "loop_config"}
    assert wanted <= set(inspect.signature(ti.loop_config).parameters)
