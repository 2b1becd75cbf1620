# the gradient of a stream: elements of one iteration need no atomic operation
import shadesmith as ti


def saxpy(a: ti.f32, x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in x:
        y[i] += a * x[i] * x[i]


kernel, arguments, derivative = saxpy, (ti.f32, *[(ti.f32, 1, False, False, True)] * 2), "reverse"
