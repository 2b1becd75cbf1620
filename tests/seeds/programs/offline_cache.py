import sys

import shadesmith as ti

ti.init(arch=getattr(ti, sys.argv[1]), offline_cache=True)

n = 128
x = ti.field(ti.f32, shape=n)


@ti.kernel
def fill(a: ti.f32):
    for i in x:
        x[i] = a * i


@ti.kernel
def total() -> ti.f32:
    s = 0.0
    for i in x:
        s += x[i]
    return s


fill(2.0)
print(total())
