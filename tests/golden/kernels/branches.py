import shadesmith as ti


def branches(a: ti.types.ndarray(dtype=ti.i32, ndim=1), n: ti.i32):
    for i in range(n):
        x = a[i]
        if x < 0:
            continue
        if x == 0:
            x = 7
        elif x % 2 == 0:
            x //= 2
        else:
            x = 3 * x + 1 if x > 1 else 0
        for k in range(2, n, 3):
            if a[k] == x or k > x:
                break
            x += a[k]
        a[i] = x


kernel, arguments = branches, ((ti.i32, 1), ti.i32)
