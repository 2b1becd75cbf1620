"""Pictures that `ti.GUI` draws, cell by cell against those of Taichi 1.7.4 (tests/data/gui_scenes.png)."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gui_scenes import BACKGROUND, COLUMNS, SCENES, SIZE
from PIL import Image

import shadesmith as ti

SHEET = np.array(Image.open(Path(__file__).parents[1] / "data" / "gui_scenes.png"))
NEAR_AN_EDGE = 0
"""Cells of a picture that may differ: an edge of a triangle through a cell's centre is a matter of rounding."""


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_taichis(name: str) -> None:
    gui = ti.GUI("scene", SIZE, background_color=BACKGROUND, show_gui=False)
    SCENES[name](gui)
    number = list(SCENES).index(name)
    y, x = number // COLUMNS * SIZE[1], number % COLUMNS * SIZE[0]
    expected = SHEET[y : y + SIZE[1], x : x + SIZE[0]].astype(int)
    found = np.round(np.clip(gui.get_image()[:, :, :3], 0, 1).transpose(1, 0, 2)[::-1] * 255)
    differs = (abs(found - expected) > 1).any(2)
    assert differs.sum() <= (NEAR_AN_EDGE if "triangle" in name else 0), np.argwhere(differs)[:10]
