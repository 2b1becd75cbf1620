import shadesmith as ti


def report(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    for i in a:
        if a[i] < 0:
            print("negative:", i, a[i])


kernel, arguments = report, ((ti.f32, 1),)
