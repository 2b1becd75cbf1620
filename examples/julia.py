"""The Julia set, animated: `python -m shadesmith.examples.julia`, or with `--demo` one frame and its emitted source."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

import shadesmith as ti


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


def as_text(image: np.ndarray, width: int = 100) -> str:
    """Return an image of floats, (width, height), as lines of characters."""
    step = max(1, image.shape[0] // width)
    small = image[::step, :: 2 * step].T[::-1]
    shades = " .:-=+*#%@"
    return "\n".join("".join(shades[int((1 - v) * 9.99)] for v in row) for row in np.clip(small, 0, 1))


def demo(n: int, folder: Path) -> None:
    """Paint one frame on every target there is, and say where the picture and the emitted source are."""
    folder.mkdir(parents=True, exist_ok=True)
    for arch in (ti.cpu, ti.vulkan, ti.cuda):
        try:
            ti.init(arch=arch, enable_fallback=False, dump_dir=str(folder / "source"), log_level=ti.WARN)
        except Exception as error:
            print(f"{arch}: not here ({str(error).splitlines()[0]})")
            continue
        pixels = ti.ndarray(shape=(n * 2, n), dtype=ti.f32)
        start = time.perf_counter()
        paint(pixels, n, 0.9)
        ti.sync()
        first = time.perf_counter()
        paint(pixels, n, 0.9)
        ti.sync()
        print(f"{arch}: first call {first - start:.3f} s, second {time.perf_counter() - first:.4f} s")
        image = pixels.to_numpy()
        if arch == ti.cpu:
            print(as_text(image))
            gui = ti.GUI("Julia Set", image.shape, show_gui=False)
            gui.set_image(image)
            gui.show(str(folder / "julia.png"))
            print(paint.source(pixels, n, 0.9, arch=ti.vulkan))
    print(f"picture:        {(folder / 'julia.png').resolve()}")
    for file in sorted((folder / "source").rglob("*.*")):
        print(f"emitted source: {file.resolve()}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--demo", action="store_true", help="one frame on every target, then stop")
    parser.add_argument("--arch", default="gpu", help="cpu, vulkan, cuda, gpu or python")
    parser.add_argument("--size", type=int, default=512, help="height in pixels")
    parser.add_argument("--output", type=Path, default=Path("build/demo"), help="folder for the demo's files")
    arguments = parser.parse_args()
    if arguments.demo:
        demo(arguments.size, arguments.output)
        return
    ti.init(arch=getattr(ti, arguments.arch))
    animate(arguments.size)


if __name__ == "__main__":
    main()
