"""A block of jelly falls: the program of examples/mpm88.py, as a picture."""

from __future__ import annotations

import numpy as np

import shadesmith as ti

from .. import mpm88 as jelly

SUBSTEPS = 1800


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    jelly.allocate()
    jelly.start()
    for _ in range(SUBSTEPS):
        jelly.substep()
    gui = ti.GUI("jelly", res=(400, 400), background_color=0x112F41, show_gui=False)
    gui.circles(jelly.position.to_numpy(), radius=1.8, color=0x3FC1B0)
    return gui.get_image()[..., :3]


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "mpm88.png")
