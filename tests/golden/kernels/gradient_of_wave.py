# the gradient of a step in time: each neighbour gets a part of the adjoint, and nothing is computed again
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
N = 64
u = ti.field(ti.f32, (4, N, N), needs_grad=True)


def wave(t: ti.i32):
    for i, j in ti.ndrange((1, N - 1), (1, N - 1)):
        laplacian = u[t, i - 1, j] + u[t, i + 1, j] + u[t, i, j - 1] + u[t, i, j + 1] - 4 * u[t, i, j]
        u[t + 1, i, j] = 2 * u[t, i, j] - u[t - 1, i, j] + 0.1 * laplacian


kernel, arguments, derivative = wave, (ti.i32,), "reverse"
