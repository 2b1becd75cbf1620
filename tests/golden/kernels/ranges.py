import shadesmith as ti


def ranges(a: ti.types.ndarray(dtype=ti.f32, ndim=1), begin: ti.i32, end: ti.i32):
    for i in range(begin, end, 2):
        r = 0.0
        for k in range(i, 0, -1):
            for q in range(k):
                if q == 3:
                    continue
                r += a[q] * a[k]
        a[i] = r if r > 0 and a[i + 1] > 0 else -r


kernel, arguments = ranges, ((ti.f32, 1), ti.i32, ti.i32)
