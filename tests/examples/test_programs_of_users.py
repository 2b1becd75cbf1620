"""Twenty-two programs as Taichi's users write them, by `shadesmith run`: they print what Taichi 1.7.4 prints.

They have classes with kernels, functions as template arguments, structs with methods, trees of nodes, tapes, windows
without a display, pictures and PLY files, packed numbers, imports of inner modules, formats, early exits, sparse
matrices, shared memory and integers of all widths. They are read from `programs`, which is left as it was written. What
Taichi printed on its CPU is below, or in a file beside the program (of `beams` without the two lines of `SparseCG`, of
`blocks` on Vulkan).
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parent / "programs"
PRINTED = {
    "fem": "fem 0.573548 0.077965 -0.000000 [0.45, 0.59293]",
    "graphs": "graph 20006 490 1 pr 0.87129 0.006695 46",
    "lbm": "lbm 0.05729 0.01286 1.13593 0.90791",
    "marching_cubes": "mc 2400 11.997 4.234 4",
    "mpm": "mpm 0.45073 0.08839 -0.1568 1.00000",
    "network": "opt 0.1137 6.8362 0.7684",
    "pbd_cloth": "cloth 0.1618 0.1718 0.2900 0.1131 0.043478261679410934 455975",
    "ray_tracer": "rt 0.8094 0.1664 [0.4320000112056732, 0.8870000243186951, 0.5649999976158142] (96, 64, 3)",
    "sph": "sph 0.5252 0.2595 0.2943 951.264 400",
    "voxels": "voxel 0.5906 21552 22528 [0.5019999742507935, 0.5019999742507935, 0.7839999794960022]",
}
"""What Taichi 1.7.4 printed, lines joined."""
PRINTED |= {path.stem: " ".join(path.read_text().splitlines()) for path in sorted(FOLDER.glob("*.txt"))}
NEEDS = {"beams": "scipy"}
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", PRINTED)
@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_a_program_prints_what_taichi_prints(target: str, name: str, tmp_path: Path) -> None:
    if target == "python":
        pytest.skip("the interpreter would take hours")
    if name in NEEDS:
        pytest.importorskip(NEEDS[name])
    words = [sys.executable, "-m", "shadesmith", "run", "--arch", target, str(FOLDER / f"{name}.py")]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    found, expected = " ".join(done.stdout.splitlines()), PRINTED[name]
    assert NUMBER.sub("", found) == NUMBER.sub("", expected)
    numbers = [[float(number) for number in NUMBER.findall(text)] for text in (found, expected)]
    assert np.allclose(*numbers, rtol=2e-3, atol=2e-4)
