"""Keep the Julia kernel in an archive that a C program launches: `python julia.py vulkan|cuda julia.tcm`."""

import sys

import shadesmith as ti

target, path = sys.argv[1:] if len(sys.argv) == 3 else ("vulkan", "julia.tcm")
ti.init(arch=ti.cpu)


@ti.func
def complex_sqr(z):
    return ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2])


@ti.kernel
def paint(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.u32, t: ti.f32):
    for i, j in pixels:  # Parallelized over all pixels
        c = ti.Vector([-0.8, ti.cos(t) * 0.2])
        z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = complex_sqr(z) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


module = ti.aot.Module(getattr(ti, target))
module.add_kernel(paint)
module.archive(path)
print(f"{path} holds `paint` for {target}")
