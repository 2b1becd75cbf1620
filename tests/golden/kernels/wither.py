import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
alive, age = ti.field(ti.i32), ti.field(ti.f32)
grid = ti.root.bitmasked(ti.ij, (64, 48))
grid.place(alive, age)


def wither(dt: ti.f32):
    for i, j in alive:
        age[i, j] += dt
        if age[i, j] > 9:
            ti.deactivate(grid, [i, j])


kernel, arguments = wither, (ti.f32,)
