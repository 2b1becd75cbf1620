# one atomic instruction adds to all members of a cell of 16 bytes, and to a vector of 2 floats
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
momentum, mass = ti.Vector.field(3, ti.f32), ti.field(ti.f32)
ti.root.dense(ti.ij, (16, 8)).place(momentum, mass)
flow = ti.Vector.field(2, ti.f32, shape=256)


def deposit(x: ti.types.ndarray(dtype=ti.f32, ndim=2), m: ti.f32):
    for p in range(x.shape[0]):
        i, j = int(x[p, 0]), int(x[p, 1])
        v = ti.Vector([x[p, 2], x[p, 3], -m])
        momentum[i, j] += m * v
        mass[i, j] += m
        flow[i] += v.xy


kernel, arguments = deposit, ((ti.f32, 2), ti.f32)
