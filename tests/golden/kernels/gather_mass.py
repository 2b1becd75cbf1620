# the arrays say what they are, and have no memory: the kernel is only compiled
from described import described

import shadesmith as ti

n = 64
x = described(ti.f32, (20_000,), "field", "x")
mass = described(ti.f32, (n,), "field", "mass")
count = described(ti.i32, (n, 2), "field", "count")


def gather_mass(m: ti.f32):
    for p in range(20_000):
        cell = int(x[p] * n)
        mass[cell] += m
        count[cell, p % 2] += 1


kernel, arguments = gather_mass, (ti.f32,)
