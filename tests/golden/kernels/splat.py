import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
mass, momentum = ti.field(ti.f32), ti.Vector.field(2, ti.f32)
block = ti.root.pointer(ti.ij, (16, 8))
block.dense(ti.ij, 4).place(mass, momentum)


def splat(x: ti.types.ndarray(dtype=ti.f32, ndim=2), gravity: ti.f32):
    for p in range(x.shape[0]):
        mass[int(x[p, 0]), int(x[p, 1])] += 1.0
    for i, j in mass:
        if i > 0 and mass[i - 1, j] > 0:
            momentum[i, j].y -= gravity * mass[i, j]


kernel, arguments = splat, ((ti.f32, 2), ti.f32)
