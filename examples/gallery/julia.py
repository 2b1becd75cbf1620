"""The Julia set of z * z + c, in colours by the number of iterations."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import vec2, vec3

N = 320


@ti.kernel
def paint(image: ti.types.ndarray(vec3, 2)):
    for i, j in image:
        colour = vec3(0.0)
        for a, b in ti.static(ti.ndrange(2, 2)):  # four points for each pixel
            z = vec2((i + a / 2) / N - 0.75, (j + b / 2) / N - 0.5) * 2.2
            iterations = 0
            while z.norm_sqr() < 400 and iterations < 200:
                z = ti.math.cmul(z, z) + vec2(-0.79, 0.156)
                iterations += 1
            t = ti.log(iterations + 1.0 - ti.log(ti.log(ti.max(z.norm(), 1.1))) / ti.log(2.0)) / 5.3
            colour += 0.25 * ti.math.clamp(vec3(1.6 * t * t, 1.3 * t, 0.9 * ti.sqrt(t) * (1.5 - t)), 0.0, 1.0)
        image[i, j] = colour


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    image = ti.Vector.ndarray(3, ti.f32, (N * 3 // 2, N))
    paint(image)
    return image.to_numpy()


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "julia.png")
