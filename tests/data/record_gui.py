"""Record what `ti.GUI` of Taichi 1.7.4 draws: a sheet of all pictures of tests/support/gui_scenes.py.

usage: PYTHON_WITH_TAICHI_AND_PILLOW record_gui.py gui_scenes.png
"""

import sys
from pathlib import Path

import numpy as np
import taichi as ti
from PIL import Image

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from gui_scenes import BACKGROUND, COLUMNS, SCENES, SIZE


def main(path):
    ti.init(arch=ti.cpu, log_level=ti.ERROR)
    rows = -(-len(SCENES) // COLUMNS)
    sheet = np.zeros((rows * SIZE[1], COLUMNS * SIZE[0], 3), np.uint8)
    for number, scene in enumerate(SCENES.values()):
        gui = ti.GUI("scene", SIZE, background_color=BACKGROUND, show_gui=False)
        scene(gui)
        picture = np.clip(gui.get_image()[:, :, :3], 0, 1).transpose(1, 0, 2)[::-1]
        y, x = number // COLUMNS * SIZE[1], number % COLUMNS * SIZE[0]
        sheet[y : y + SIZE[1], x : x + SIZE[0]] = np.round(picture * 255)
    Image.fromarray(sheet).save(path, optimize=True)


if __name__ == "__main__":
    main(sys.argv[1])
