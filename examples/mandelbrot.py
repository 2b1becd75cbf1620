"""A deep zoom into the Mandelbrot set in double precision."""

from __future__ import annotations

import argparse

import shadesmith as ti


@ti.kernel
def mandelbrot(pixels: ti.template(), x: ti.f64, y: ti.f64, width: ti.f64, limit: ti.i32):
    for i, j in pixels:
        n, m = pixels.shape
        cx = x + (ti.cast(i, ti.f64) / n - 0.5) * width
        cy = y + (ti.cast(j, ti.f64) / m - 0.5) * width * m / n
        zx = ti.cast(0.0, ti.f64)
        zy = ti.cast(0.0, ti.f64)
        count = 0
        while zx * zx + zy * zy < 4.0 and count < limit:
            zx, zy = zx * zx - zy * zy + cx, 2.0 * zx * zy + cy
            count += 1
        pixels[i, j] = count


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arch", default="gpu")
    arguments = parser.parse_args()
    ti.init(arch=getattr(ti, arguments.arch))
    pixels = ti.field(ti.i32, (480, 320))
    gui = ti.GUI("Mandelbrot", (480, 320))
    width = 3.0
    while gui.running:
        mandelbrot(pixels, -0.743643887037151, 0.131825904205330, width, 300)
        gui.set_image(1 - (pixels.to_numpy() % 64) / 63.0)
        gui.show()
        width *= 0.8


if __name__ == "__main__":
    main()
