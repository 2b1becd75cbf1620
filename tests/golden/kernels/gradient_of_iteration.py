# the gradient of a loop of any trip count: values are saved for every k-th iteration, and computed again between
import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
x, y = (ti.field(ti.f32, 256, needs_grad=True) for _ in range(2))


def iterate(n: ti.i32):
    for i in x:
        a = x[i]
        for _ in range(n):
            a = ti.sin(a) + 0.1 * x[i] * a
        y[i] = a


kernel, arguments, derivative = iterate, (ti.i32,), "reverse"
