import shadesmith as ti


def jacobi(a: ti.types.ndarray(dtype=ti.f32, ndim=2), b: ti.types.ndarray(dtype=ti.f32, ndim=2), w: ti.f32):
    n, m = a.shape
    for i, j in a:
        if 0 < i < n - 1 and 0 < j < m - 1:
            s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])


kernel, arguments = jacobi, ((ti.f32, 2), (ti.f32, 2), ti.f32)
