"""Every example runs headless from a shell, and computes what NumPy computes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
from shadesmith import examples
from shadesmith.examples import game_of_life, hand_tuning, heat3d, julia, mandelbrot, nbody, pi
from shadesmith.transpiler.backend.print.line_comments import without_comments

FOLDER = Path(examples.__file__).parent
NAMES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")
SMALL = {
    "find_source": ["--size", "16", "--steps", "4", "--iterations", "2"],
    "hand_tuning": ["--size", "64"],
    "julia": ["--size", "64"],
    "minimise": ["--steps", "3"],
    "neural_field": ["--size", "8", "--steps", "3"],
    "steer_smoke": ["--size", "12", "--steps", "3", "--iterations", "3"],
    "throw": ["--side", "3", "--steps", "4", "--iterations", "2"],
    "mpm88": ["--substeps", "5"],
    "nbody": ["--bodies", "64"],
    "pi": ["--samples", "20000"],
}
PRINTED = {
    "find_source": "loss from ",
    "minimise": "loss from ",
    "neural_field": "error from ",
    "steer_smoke": "difference from ",
    "throw": "distance from ",
    "hand_tuning": "jacobi of 64 x 64: generated",
    "pi": "pi is about 3.",
    "heat3d": "heat before 4096.0, after 4096.0",
}


def start(name: str, folder: Path, *arguments: str) -> str:
    environment = {
        **{key: value for key, value in os.environ.items() if key not in ("DISPLAY", "TI_ARCH", "SHADESMITH_ARCH")},
        "SHADESMITH_GUI_DIR": str(folder / "frames"),
        "SHADESMITH_GUI_FRAMES": "2",
    }
    command = [sys.executable, "-m", f"shadesmith.examples.{name}", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", NAMES)
def test_the_example_runs_headless(name: str, tmp_path: Path) -> None:
    printed = start(name, tmp_path, "--arch", "cpu", *SMALL.get(name, []))
    if name in PRINTED:
        assert printed.startswith(PRINTED[name])
    else:
        frames = sorted((tmp_path / "frames").glob("*.png"))
        assert len(frames) == 2
        assert all(frame.read_bytes().startswith(b"\x89PNG") for frame in frames)


def test_the_demo_ends_with_its_picture_and_its_source(tmp_path: Path) -> None:
    printed = start("julia", tmp_path, "--demo", "--size", "64", "--output", "out")
    named = [
        Path(line.split(":", 1)[1].strip())
        for line in printed.splitlines()
        if line.startswith(("picture:", "emitted source:"))
    ]
    assert named and named[0].suffix == ".png"
    assert {path.suffix for path in named} >= {".png", ".c"}
    assert all(path.stat().st_size > 0 for path in named)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_game_of_life_follows_the_rules(target: str) -> None:
    n = 33 if target != "python" else 9
    board = np.random.default_rng(1).integers(0, 2, (n, n + 2))
    expected = board.copy()
    for _ in range(4):
        around = sum(np.roll(expected, (i, j), (0, 1)) for i in (-1, 0, 1) for j in (-1, 0, 1)) - expected
        expected = ((around == 3) | ((around == 2) & (expected == 1))).astype(int)
    assert np.array_equal(game_of_life.run(board, 4), expected)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_heat_spreads_as_in_numpy(target: str) -> None:
    n = 17 if target != "python" else 5
    start = np.random.default_rng(2).random((n, n + 1, n + 2)).astype(np.float32)
    expected = start.copy()
    for _ in range(3):
        inner = expected[1:-1, 1:-1, 1:-1]
        around = expected[:-2, 1:-1, 1:-1] + expected[2:, 1:-1, 1:-1] + expected[1:-1, :-2, 1:-1]
        around = around + expected[1:-1, 2:, 1:-1] + expected[1:-1, 1:-1, :-2] + expected[1:-1, 1:-1, 2:]
        expected = expected.copy()
        expected[1:-1, 1:-1, 1:-1] = inner + np.float32(0.15) * (around - 6 * inner)
    assert np.allclose(heat3d.run(start, 3), expected, rtol=0, atol=1e-6)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_bodies_attract_each_other_as_in_numpy(target: str) -> None:
    n = 100 if target != "python" else 8
    start = np.random.default_rng(3).normal(0.5, 0.15, (n, 3))
    x, v = start.copy(), np.zeros_like(start)
    for _ in range(5):
        to = x[None] - x[:, None]
        v += 1e-2 * (to * ((to**2).sum(-1) + nbody.SOFTENING)[..., None] ** -1.5).sum(1) / n
        x += 1e-2 * v
    assert np.allclose(nbody.run(start, 5, 1e-2), x, atol=2e-5)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_mandelbrot_counts_in_double_precision(target: str) -> None:
    n, m, limit = (48, 32, 200) if target != "python" else (6, 4, 30)
    x, y, width = -0.743643887037151, 0.131825904205330, 1e-9
    pixels = ti.field(ti.i32, (n, m))
    mandelbrot.mandelbrot(pixels, x, y, width, limit)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    cx, cy = x + (i / n - 0.5) * width, y + (j / m - 0.5) * width * m / n
    zx, zy, count = np.zeros((n, m)), np.zeros((n, m)), np.zeros((n, m), int)
    for _ in range(limit):
        going = zx * zx + zy * zy < 4
        zx, zy = np.where(going, zx * zx - zy * zy + cx, zx), np.where(going, 2 * zx * zy + cy, zy)
        count += going
    assert (np.abs(pixels.to_numpy() - count) > 0).mean() <= 0.01


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_pi_is_about_pi(target: str) -> None:
    samples = 400_000 if target != "python" else 4_000
    assert abs(pi.estimate(samples) - np.pi) < 6 / np.sqrt(samples)


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_the_julia_example_is_the_seed_program(target: str) -> None:
    n = 32 if target != "python" else 8
    pixels = ti.ndarray(ti.f32, (2 * n, n))
    julia.paint(pixels, n, 0.9)
    image = pixels.to_numpy()
    assert image.min() >= -1e-6 and image.max() <= 1
    assert len(np.unique(image)) > 5
    # The set is its own image under z -> -z. Row 0 and column 0 have no partner.
    assert (np.abs(image[1:, 1:] - image[1:, 1:][::-1, ::-1]) > 1e-4).mean() <= 0.02


@pytest.mark.parametrize("kernel", ["jacobi", "multiply"])
@pytest.mark.parametrize(("arch", "suffix"), [(ti.cuda, "cu"), (ti.vulkan, "comp")])
def test_the_edits_of_the_example_are_made_from_what_is_emitted_now(kernel: str, arch: Any, suffix: str) -> None:
    """An edit of another source is not run, and the example ends with an error."""
    ti.init(arch=ti.python, log_level=ti.ERROR)
    (base,) = Path(hand_tuning.__file__).parent.glob(f"edits/hand_tuning.{kernel}/*/.base/{kernel}.{suffix}")
    assert without_comments(base.read_text()) == without_comments(getattr(hand_tuning, kernel).source(arch=arch))


@pytest.mark.targets("vulkan", "cuda")
def test_the_edits_of_the_example_run(target: str) -> None:
    if target not in ("vulkan", "cuda"):
        pytest.skip("the example has edits of GLSL and CUDA C")
    n = 40
    a, b, c = hand_tuning.numbers(n, n), hand_tuning.numbers(n, n), ti.ndarray(ti.f32, (n, n))
    hand_tuning.jacobi(a, c)
    hand_tuning.multiply(a, b, c)
    assert hand_tuning.jacobi.last_launch.variant == hand_tuning.multiply.last_launch.variant == "edit"
    assert np.allclose(c.to_numpy(), a.to_numpy() @ b.to_numpy(), rtol=1e-5)
