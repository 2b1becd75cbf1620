# the gradient of a sum over pairs: one variable is read again in a serial loop, both elements of a pair get a part
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
N = 64
x = ti.Vector.field(2, ti.f32, N, needs_grad=True)
loss = ti.field(ti.f32, (), needs_grad=True)


def energy():
    for i in x:
        e = 0.0
        for j in range(N):
            if i != j:
                r = x[i] - x[j]
                e += 1 / ti.sqrt(r.norm_sqr() + 1e-3)
        loss[None] += e


kernel, arguments, derivative = energy, (), "reverse"
