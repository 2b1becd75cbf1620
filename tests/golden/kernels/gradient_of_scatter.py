# the gradient of particles to a grid: it gathers, so that nothing is atomic; lists of weights have an adjoint each
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
N = 64
x, v = (ti.Vector.field(2, ti.f32, 256, needs_grad=True) for _ in range(2))
momentum = ti.Vector.field(2, ti.f32, (N, N), needs_grad=True)


def scatter():
    for p in x:
        base = (x[p] * N - 0.5).cast(int)
        fx = x[p] * N - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        for i, j in ti.static(ti.ndrange(3, 3)):
            momentum[base + ti.Vector([i, j])] += w[i][0] * w[j][1] * v[p]


kernel, arguments, derivative = scatter, (), "reverse"
