import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
table = ti.field(ti.u32, 100)


def wrapped(a: ti.types.ndarray(dtype=ti.i32, ndim=2), n: ti.i32, m: ti.i32):
    for i, j in a:
        a[(i + 1) % a.shape[0], j // 2 % a.shape[1]] += (i - 1) % 8
    for k in range(n):
        tile = ti.Vector([k, n - 1 - k]) // 16
        a[tile.x, k % 16] = table[k % 100] % 10 + (k - m) // 4
        if k > m and m > 0:
            a[0, 0] += (k - m) // 4 + k % m


kernel, arguments = wrapped, ((ti.i32, 2), ti.i32, ti.i32)
