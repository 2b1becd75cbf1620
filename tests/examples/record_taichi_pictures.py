"""Records what Taichi's examples draw, print and write with Taichi itself, for `test_all_taichi_examples.py`.

    python tests/examples/record_taichi_pictures.py OUT.json [PROGRAM ...]      # with a Python that has Taichi

Each program runs in a process of its own, without a window, for three frames; those with `ti.ui.Window` for one, since
Taichi 1.7.4 crashes at the second without a display; Python's and NumPy's random numbers are seeded. Of the last frame 16 x 16 means of its colours are kept; of programs
that draw none the same of their figures and pictures, the means of the columns of a PLY file, and what they print. For all
of them the Python needs matplotlib below 3.9, Pillow, SciPy, OpenCV and pycairo, and the path `ffmpeg`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import runpy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

CELLS = 16
FRAMES, FRAMES_OF_WINDOWS = 3, 1
PATIENCE = 1500
"""[s] for a program."""
SINGLE = ("rendering/sdf_renderer.py",)
"""Programs of which one frame is recorded: ten paths of each pixel take minutes."""


def thumbnail(pixels: Any) -> np.ndarray:
    """Return 16 x 16 means of a picture of shape (height, width, 3)."""
    rows, columns = (np.linspace(0, extent, CELLS + 1).astype(int) for extent in pixels.shape[:2])
    cells = [[pixels[a : max(b, a + 1), c : max(d, c + 1)].reshape(-1, 3).mean(0) for c, d in zip(columns, columns[1:])]
             for a, b in zip(rows, rows[1:])]  # fmt: skip
    return np.array(cells).round().astype(np.uint8)


def traces(folder: Path, printed: str) -> dict[str, Any]:
    """Return what a program without frames left: figures, a picture or numbers in its folder, and lines."""
    from PIL import Image

    figures = {path.stem: encoded(np.load(path)) for path in sorted((folder / "figures").glob("*.npy"))}
    tables, pictures = sorted(folder.glob("*.ply")), sorted((folder / "results").rglob("*.png"))
    found: dict[str, Any] = {"figures": figures} if figures else {}
    if tables:
        found["columns"] = means_of_columns(tables[0])
    if pictures:
        found["picture"] = encoded(thumbnail(np.asarray(Image.open(pictures[0]).convert("RGB"))))
    lines = [line for line in printed.splitlines() if not re.match(r"\[(Taichi|[IWE] )", line)]
    return {**found, "lines": lines[:200]}


def encoded(thumb: np.ndarray) -> str:
    """Return a thumbnail as text."""
    return base64.b64encode(thumb.tobytes()).decode()


def means_of_columns(path: Path) -> dict[str, float]:
    """Return the mean of each property of the vertices of a PLY file of numbers."""
    types = {"float": "<f4", "double": "<f8", "int": "<i4", "uchar": "u1"}
    header, _, body = path.read_bytes().partition(b"end_header\n")
    vertices = header.decode().partition("element vertex ")[2].partition("element")[0]
    columns = re.findall(r"property (\w+) (\w+)", vertices)
    table = np.frombuffer(body, [(name, types[kind]) for kind, name in columns], int(vertices.split()[0]))
    return {name: float(table[name].mean()) for _, name in columns}


def run(out: str, frames: int, program: str) -> None:
    """Run a program with Taichi in this process; save frames, then end."""
    import taichi as ti

    count = 0

    def save(image: Any) -> None:
        nonlocal count
        count += 1
        pixels = np.asarray(image)
        if pixels.dtype != np.uint8:
            pixels = (np.clip(pixels, 0, 1) * 255 + 0.5).astype(np.uint8)
        np.save(out, thumbnail(np.swapaxes(pixels, 0, 1)[::-1, :, :3]))
        if count >= frames:
            sys.stdout.flush()
            os._exit(0)

    gui, window = ti.GUI, ti.ui.Window

    class GUI(gui):
        def __init__(self, name="Taichi", res=512, background_color=0, show_gui=True, fullscreen=False, fast_gui=False):
            super().__init__(name, res, background_color, False, False, False)

        def show(self, file: Any = None) -> None:
            save(self.get_image())
            super().show(f"{out}.png")

    class Window(window):
        event = None

        def __init__(self, name: str, res: Any, vsync: bool = False, show_window: bool = True, fps_limit: int = 1000,
                     pos: Any = (100, 100)) -> None:  # fmt: skip
            super().__init__(name, res, vsync=vsync, show_window=False, fps_limit=fps_limit)

        def get_event(self, tag: Any = None) -> bool:
            return False

        def get_events(self, tag: Any = None) -> list:
            return []

        def get_cursor_pos(self) -> tuple[float, float]:
            return 0.0, 0.0

        def is_pressed(self, *keys: Any) -> bool:
            return False

        def show(self) -> None:
            save(self.get_image_buffer_as_numpy())
            super().show()

    for module in [module for name, module in sys.modules.items() if name.startswith("taichi")]:
        for name, old, new in (("GUI", gui, GUI), ("Window", window, Window)):
            if getattr(module, name, None) is old:
                setattr(module, name, new)
    sys.argv = [program]
    sys.path.insert(0, os.path.dirname(program))
    runpy.run_path(program, run_name="__main__")


def record(folder: Path, program: str) -> dict[str, Any]:
    """Return what is recorded of a program, nothing if Taichi cannot run it here."""
    text = (folder / program).read_text()
    is_window = "ui.Window" in text and "ti.GUI(" not in text
    frames = FRAMES_OF_WINDOWS if is_window or program in SINGLE else FRAMES
    arch = "vulkan" if is_window and "real_func" not in program else "x64"  # Taichi has real functions on CPUs alone
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "picture.npy")
        command = [sys.executable, __file__, "--run", str(out), str(frames), str(folder / program)]
        environment = {**os.environ, **beside(Path(scratch)), "TI_ARCH": arch}
        try:
            done = subprocess.run(command, cwd=scratch, env=environment, capture_output=True, text=True,
                                  timeout=PATIENCE, stdin=subprocess.DEVNULL)  # fmt: skip
        except subprocess.TimeoutExpired:
            return {}
        if out.exists():
            return {"frame": frames, "thumbnail": encoded(np.load(out))}
        return traces(Path(scratch), done.stdout) if done.returncode == 0 else {}


def beside(folder: Path) -> dict[str, str]:
    """Return the variables by which a program's figures are saved below a folder, and its random numbers are seeded."""
    folders = (os.environ.get("PYTHONPATH"), str(Path(__file__).parent), str(Path(__file__).with_name("beside")))
    path = os.pathsep.join(filter(None, folders))
    return {"PYTHONPATH": path, "MPLBACKEND": "module://saved_figures", "SAVED_FIGURES": str(folder / "figures")}


def main() -> None:
    """Record the programs, and keep what is known of others."""
    import taichi

    folder = Path(taichi.__file__).parent / "examples"
    out = Path(sys.argv[1])
    known = json.loads(out.read_text()) if out.exists() else {}
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.py") if path.name != "patterns.py")
    for program in sys.argv[2:] or [name for name in names if name not in known]:
        known[program] = record(folder, program)
        out.write_text(json.dumps(known, indent=0, sort_keys=True) + "\n")
        print(program, *known[program], flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        main()
