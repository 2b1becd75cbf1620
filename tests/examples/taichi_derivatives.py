"""Run one of Taichi's example programs that differentiate, with Taichi or with us, and print the numbers to compare.

`python taichi_derivatives.py ENGINE PROGRAM STEPS`: ENGINE is taichi or shadesmith, PROGRAM a file of `taichi/examples`. The
program is unchanged; its windows and plots are stand-ins. It ends after STEPS tapes. What `ti.random` draws differs between
the two, so that fields that start with random numbers get the same ones here, before the first tape.
"""

from __future__ import annotations

import json
import random
import sys
import types
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import numpy as np

RANDOM = {"ad_gravity.py": ("x",), "diff_sph.py": ("fc1.weights1", "fc2.weights1")}
"""The fields that a program fills with random numbers."""
STATES = {
    "fem99.py": ("pos", "vel"),
    "fem128.py": ("pos", "vel"),
    "fem128_ggui.py": ("pos", "vel"),
    "mpm_lagrangian_forces.py": ("x", "v"),
}
"""What further programs leave after their steps: their energies are differences that cancel."""
RESULTS = {"jacobian.py": ("jacobian_fwd", "jacobian_rev"), "simple_derivative.py": ("grad_xs",)}
"""Programs without a tape, and what they leave."""
SMALLER = {"diff_sph.py": (("steps = 128", "steps = 16"), ("BATCH_SIZE = 16", "BATCH_SIZE = 2"))}
"""Constants of programs that take hours on a processor, and what they are here."""


class Window:
    """A window that shows nothing."""

    running = True
    LMB, RMB, ESCAPE, SPACE, PRESS = "LMB", "RMB", "Escape", "Space", "Press"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.event = MagicMock(key="")

    def get_cursor_pos(self) -> tuple[float, float]:
        return 0.4, 0.6

    def get_events(self, *args: Any) -> list[Any]:
        return []

    def get_event(self, *args: Any) -> bool:
        return False

    def is_pressed(self, *args: Any) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        return MagicMock()


def main(engine: str, program: Path, steps: int) -> None:
    for name in ("matplotlib", "matplotlib.pyplot"):
        sys.modules[name] = MagicMock()
    if engine == "shadesmith":
        import shadesmith

        shadesmith.as_taichi()
    import taichi as ti

    random.seed(0)
    np.random.seed(0)
    space: dict[str, Any] = {"__name__": "__main__", "__file__": str(program)}
    numbers: list[float] = []

    class Tape(ti.ad.Tape):  # type: ignore[misc, name-defined]
        def __enter__(self) -> Any:
            if not numbers:
                fill(space, RANDOM.get(program.name, ()))
            return super().__enter__()

        def __exit__(self, *exception: Any) -> None:
            super().__exit__(*exception)
            numbers.append(float(self.loss[None]))
            if len(numbers) == steps:
                raise SystemExit

    ti.ad.Tape, ti.GUI, ti.ui.Window, ti.ui.Camera = Tape, Window, Window, MagicMock
    sys.argv = [str(program), "--train"]
    module = types.ModuleType("__main__")
    module.__dict__.update(space)
    space = module.__dict__
    sys.modules["__main__"] = module
    try:
        text = program.read_text()
        for old, new in SMALLER.get(program.name, ()):
            assert old in text
            text = text.replace(old, new)
        exec(compile(text, str(program), "exec", dont_inherit=True), space)
    except SystemExit:
        pass
    for name in STATES.get(program.name, ()):
        numbers += space[name].to_numpy().astype(np.float64).ravel().tolist()
    for name in RESULTS.get(program.name, ()):
        numbers += np.asarray(space[name], np.float64).ravel().tolist()
    sys.stdout.write("\nNUMBERS " + json.dumps(numbers) + "\n")


def fill(space: dict[str, Any], names: tuple[str, ...]) -> None:
    """Fill fields with the same random numbers for both engines."""
    generator = np.random.default_rng(0)
    for name in names:
        first, _, rest = name.partition(".")
        field = getattr(space[first], rest) if rest else space[first]
        shape = np.shape(field.to_numpy())
        scale = 0.01 if rest else 1.0
        field.from_numpy((scale * generator.random(shape)).astype(np.float32))


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]).resolve(), int(sys.argv[3]))
