"""The Julia set: a field, a function, a parallel loop over a field."""

import shadesmith as ti

ti.init(arch=ti.cpu)

N = 16
pixels = ti.field(dtype=ti.f32, shape=(N * 2, N))


@ti.func
def square(z: ti.math.vec2) -> ti.math.vec2:
    return ti.math.cmul(z, z)


@ti.kernel
def paint(t: ti.f32) -> None:
    for i, j in pixels:
        c = ti.math.vec2(-0.8, ti.cos(t) * 0.2)
        z = ti.math.vec2(i / N - 1, j / N - 0.5) * 2
        iterations = 0
        while z.norm() < 20 and iterations < 50:
            z = square(z) + c
            iterations += 1
        pixels[i, j] = 1 - iterations * 0.02


def main() -> None:
    paint(0.5)
    text: str = paint.source(0.5)
    forms: dict[str, str] = paint.inspect(0.5).forms
    picture = pixels.to_numpy()
    print(text.count("\n") > 0, len(forms) > 0, float(picture.max()))


if __name__ == "__main__":
    main()
