"""Run one of Taichi's example programs here, with only the import changed and its window headless.

`python headless.py PROGRAM FRAMES`: frames are saved as `ti.GUI` saves them; after FRAMES of them the program ends, also
where its loop has no end. The mouse is held down and goes round in a circle, so that programs that wait for it move.
SHADESMITH_ARCH says where it runs, whatever the program asks for.
"""

from __future__ import annotations

import math
import os
import sys
from pathlib import Path
from typing import Any


def main(program: Path, frames: int) -> None:
    os.environ.update(SHADESMITH_GUI_FRAMES=str(frames), DISPLAY="", WAYLAND_DISPLAY="")
    import shadesmith as ti

    show = ti.GUI.show

    def show_and_stop(gui: Any, file: str | None = None) -> None:
        show(gui, file)
        if gui.frame >= frames:
            sys.exit(0)

    def mouse(gui: Any) -> tuple[float, float]:
        angle = 2 * math.pi * gui.frame / frames
        return 0.5 + 0.3 * math.cos(angle), 0.5 + 0.3 * math.sin(angle)

    ti.GUI.show = show_and_stop
    ti.GUI.is_pressed = lambda gui, *keys: ti.GUI.LMB in keys
    ti.GUI.get_cursor_pos = mouse
    patterns = next((folder / "patterns.py" for folder in program.parents if (folder / "patterns.py").exists()), None)
    if patterns is not None:  # shapes that several of them draw
        Path("patterns.py").write_text(translated(patterns))
        sys.path.insert(0, str(Path.cwd()))
    copy, text = Path(program.name), translated(program)
    copy.write_text(text)
    sys.argv = [str(copy)]
    exec(compile(text, str(copy.resolve()), "exec"), {"__name__": "__main__", "__file__": str(copy)})


def translated(program: Path) -> str:
    text = program.read_text().replace("taichi.examples.patterns", "patterns")
    return text.replace("import taichi as ti", "import shadesmith as ti").replace("taichi.", "shadesmith.")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), int(sys.argv[2]))
