# the gradient of a potential: elements whose indices come from memory are added to atomically
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
x = ti.Vector.field(2, ti.f32, 128, needs_grad=True)
ends = ti.Vector.field(2, ti.i32, 256)
length, stiffness = (ti.field(ti.f32, 256, needs_grad=True) for _ in range(2))
energy = ti.field(ti.f32, (), needs_grad=True)


def springs():
    for s in ends:
        d = x[ends[s][0]] - x[ends[s][1]]
        strain = d.norm() / length[s] - 1
        energy[None] += 0.5 * stiffness[s] * strain**2


kernel, arguments, derivative = springs, (), "reverse"
