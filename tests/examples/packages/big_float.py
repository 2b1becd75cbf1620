"""taichi-big-float 0.1.3: numbers of 192 bits in real functions; Newton's method for the root of 2, and 2 * 0.3^2 - 1.

`mul_hi` of the package shifts a word by 32 where a product needs no shift. Taichi's result is then that of LLVM for a
shift that has none, so the lowest word of the root is left out.
"""

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
def step(out: ti.types.ndarray(dtype=ty.float_t, ndim=1), z: ty.float_t):
    for i in range(out.shape[0]):
        out[i] = ty.sub(ty.mul(ty.i32_to_float(2), ty.mul(z, z)), ty.i32_to_float(1))


roots, next_one = ti.ndarray(ty.float_t, 1), ti.ndarray(ty.float_t, 1)
root(roots)
print(roots.to_numpy()[:, 1:].tolist())
step(next_one, ty.str_to_float("0.3"))
print(next_one.to_numpy()[0].tolist())
