import shadesmith as ti


def escape(pixels: ti.types.ndarray(dtype=ti.f32, ndim=2), n: ti.i32, t: ti.f32):
    for i, j in pixels:
        c = ti.Vector([-0.8, ti.cos(t) * 0.2])
        z = ti.Vector([i / n - 1, j / n - 0.5]) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = ti.Vector([z[0] ** 2 - z[1] ** 2, z[1] * z[0] * 2]) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


kernel, arguments = escape, ((ti.f32, 2), ti.i32, ti.f32)
