"""The Julia set, animated: `python -m shadesmith.examples.julia`, or with `--demo` one frame and its emitted source."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import shadesmith as ti

TARGETS = {"cpu": "c", "vulkan": "comp", "cuda": "cu"}


@ti.kernel
def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
    for i, j in pixels:  # in parallel over all pixels
        c = ti.Vector([-0.8, ti.cos(t) * 0.2])
        z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


def animate(n: int) -> None:
    pixels = ti.ndarray(shape=(n * 2, n), dtype=ti.f32)
    gui = ti.GUI("Julia Set", (n * 2, n))
    t = 0
    while gui.running:
        t += 1
        paint(pixels, n, t * 0.03)
        gui.set_image(pixels.to_numpy())
        gui.show()


def as_text(image: np.ndarray, width: int = 96) -> str:
    """Return an image of floats, (width, height), as lines of characters; dark pixels get the dense ones."""
    step = max(1, image.shape[0] // width)
    cells = image[: image.shape[0] // step * step, : image.shape[1] // (2 * step) * 2 * step]
    cells = cells.reshape(cells.shape[0] // step, step, -1, 2 * step).mean((1, 3)).clip(0, 1)
    shades = " .:-=+*#%@"
    lines = ["".join(shades[int((1 - v) * 9.99)] for v in row).rstrip() for row in cells.T[::-1]]
    return "\n".join(lines).strip("\n")


def compiler_runs() -> int:
    """Return how often a compiler ran in this process."""
    return sum(ti.cache.stats().compiler_runs.values())


def reason_of(error: Exception) -> str:
    """Return the first sentence of why a target is not here: of a line "target: reason", if there is one."""
    first, *more = str(error).splitlines()
    reason = next((line.partition(": ")[2] for line in more if line.startswith("  ")), first)
    return reason.split(". ")[0].split(" (")[0]


def paint_on(target: str, n: int) -> np.ndarray | None:
    """Paint one frame on a target and print how long it took; None where the target is not here."""
    try:
        ti.init(arch=getattr(ti, target), enable_fallback=False, log_level=ti.WARN)
        pixels = ti.ndarray(shape=(n * 2, n), dtype=ti.f32)
        seconds, compilers = [], compiler_runs()
        for _ in range(3):
            start = time.perf_counter()
            paint(pixels, n, 0.9)
            ti.sync()
            seconds.append(time.perf_counter() - start)
    except (ti.TaichiRuntimeError, ti.TaichiCompilationError) as error:
        print(f"  ti.{target:<8} not here: {reason_of(error)}")
        return None
    how = "compiling" if compiler_runs() > compilers else "loading the cached kernel"
    print(f"  ti.{target:<8} first call {seconds[0] * 1e3:5.0f} ms with {how}, then {min(seconds[1:]) * 1e3:5.1f} ms")
    return pixels.to_numpy()


def demo(n: int, folder: Path) -> int:
    """Paint one frame on every target there is; show emitted source and picture. Return an exit status."""
    print(f"\nThe Julia set, {2 * n} x {n} pixels, painted on every target of this machine:\n")
    images = [image for target in TARGETS if (image := paint_on(target, n)) is not None]
    if len(images) < len(TARGETS):
        print(f"\n`{sys.executable} -m shadesmith diagnose` says what is missing, and how to get it.")
    if not images:
        return 1
    folder.mkdir(parents=True, exist_ok=True)
    emitted = {suffix: paint.source(images[0], n, 0.9, arch=getattr(ti, arch)) for arch, suffix in TARGETS.items()}
    print(f"\nThe kernel as GLSL:\n\n{emitted['comp']}\n\nThe picture:\n\n{as_text(images[0])}\n")
    gui = ti.GUI("Julia Set", images[0].shape, show_gui=False)
    gui.set_image(images[0])
    gui.show(str(folder / "julia.png"))
    print(f"picture:        {(folder / 'julia.png').resolve()}")
    for suffix, text in emitted.items():
        file = folder / f"paint.{suffix}"
        file.write_text(text, encoding="utf-8")
        print(f"emitted source: {file.resolve()}")
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", action="store_true", help="one frame on every target, then stop")
    parser.add_argument("--arch", default="gpu", help="cpu, vulkan, cuda, gpu or python")
    parser.add_argument("--size", type=int, default=512, help="height in pixels")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder for the demo's files")
    arguments = parser.parse_args()
    if arguments.demo:
        return demo(arguments.size, arguments.output)
    ti.init(arch=getattr(ti, arguments.arch))
    animate(arguments.size)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
