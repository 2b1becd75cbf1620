import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
velocity, mass, total = ti.Vector.field(2, ti.f32), ti.field(ti.f32), ti.field(ti.f32)
blocks = ti.root.dense(ti.ij, (8, 4))
cells = blocks.dense(ti.ij, (4, 3))
cells.place(velocity, mass)
blocks.place(total)


def sweep(dt: ti.f32):
    for i, j in velocity:
        velocity[i, j].y -= 9.8 * dt
        total[i // 4, j // 3] += velocity[i, j].norm() * mass[i, j]


kernel, arguments = sweep, (ti.f32,)
