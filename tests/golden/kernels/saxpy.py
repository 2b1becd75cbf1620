import shadesmith as ti


def saxpy(x: ti.types.ndarray(dtype=ti.f32, ndim=1), y: ti.types.ndarray(dtype=ti.f32, ndim=1), alpha: ti.f32):
    for i in x:
        y[i] = alpha * x[i] + y[i]


kernel, arguments = saxpy, ((ti.f32, 1), (ti.f32, 1), ti.f32)
