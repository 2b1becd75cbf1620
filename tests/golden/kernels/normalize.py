import shadesmith as ti


def normalize(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    total = 0.0
    for i in range(a.shape[0]):
        total += a[i]
    for i in a:
        a[i] /= total


kernel, arguments = normalize, ((ti.f32, 1),)
