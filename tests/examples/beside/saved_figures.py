"""A backend of matplotlib that saves thumbnails: `MPLBACKEND=module://saved_figures`, SAVED_FIGURES names a folder.

`plt.show` and `plt.pause` write `figure-N.npy` for each figure that is open, and wait for nobody.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib._pylab_helpers import Gcf
from matplotlib.backend_bases import FigureManagerBase
from matplotlib.backends.backend_agg import FigureCanvasAgg
from record_taichi_pictures import thumbnail


class Manager(FigureManagerBase):
    @classmethod
    def pyplot_show(cls, *, block: Any = None) -> None:
        folder = Path(os.environ["SAVED_FIGURES"])
        folder.mkdir(parents=True, exist_ok=True)
        for manager in Gcf.get_all_fig_managers():
            manager.canvas.draw()
            np.save(folder / f"figure-{manager.num}.npy", thumbnail(np.asarray(manager.canvas.buffer_rgba())[..., :3]))


class FigureCanvas(FigureCanvasAgg):
    manager_class = Manager

    def start_event_loop(self, timeout: float = 0) -> None:
        """Do not wait."""
