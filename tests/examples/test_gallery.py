"""The programs of the gallery: short, each with a picture in docs/gallery; `make test-all` makes all pictures."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = sorted(path for path in (ROOT / "examples" / "gallery").glob("*.py") if not path.stem.startswith("_"))


def test_there_are_sixteen_short_programs_with_pictures() -> None:
    assert len(PROGRAMS) >= 16
    assert [path.stem for path in PROGRAMS if len(path.read_text(encoding="utf-8").splitlines()) > 150] == []
    assert [path.stem for path in PROGRAMS if not (ROOT / "docs" / "gallery" / f"{path.stem}.png").exists()] == []


@pytest.mark.exhaustive
@pytest.mark.one_target
@pytest.mark.parametrize("name", [path.stem for path in PROGRAMS])
def test_a_program_makes_a_picture(name: str) -> None:
    ti.init(arch=ti.cpu, random_seed=1)
    picture = import_module(f"shadesmith.examples.gallery.{name}").picture()
    ti.reset()
    assert picture.ndim == 3 and picture.shape[2] == 3 and np.isfinite(picture).all()
    assert picture.std() > 0.03 * (255 if picture.dtype == np.uint8 else 1)
