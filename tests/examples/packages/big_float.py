"""taichi-big-float 0.1.3: numbers of 192 bits in real functions; Newton's method for the root of 2, an orbit of 2 z^2 - 1."""

import taichi as ti
from taichi_big_float import make_float_t

ti.init(arch=ti.cpu)
ty = make_float_t(6)


@ti.kernel
def root(out: ti.types.ndarray(dtype=ty.float_t, ndim=1)):
    for i in range(out.shape[0]):
        two = ty.f32_to_float(2.0)
        x = ty.f32_to_float(1.0 + i)
        for _ in range(9):
            x = ty.div(ty.add(x, ty.div(two, x)), two)
        out[i] = x


@ti.kernel
def orbit(out: ti.types.ndarray(dtype=ty.float_t, ndim=1), start: ty.float_t):
    ti.loop_config(serialize=True)
    z = start
    for i in range(out.shape[0]):
        z = ty.sub(ty.mul(ty.i32_to_float(2), ty.mul(z, z)), ty.i32_to_float(1))
        out[i] = z


roots, path = ti.ndarray(ty.float_t, 3), ti.ndarray(ty.float_t, 40)
root(roots)
print(roots.to_numpy().tolist())
orbit(path, ty.str_to_float("0.3"))
print(path.to_numpy()[[0, 9, 39]].tolist())
