# a thread runs four iterations at a time, by accesses of 16 bytes
from described import described

import shadesmith as ti

x, y = (described(ti.f32, (2048, 1024), "field", name) for name in "xy")


def scaled(a: ti.f32):
    for i, j in x:
        y[i, j] = a * x[i, j]


kernel, arguments = scaled, (ti.f32,)
