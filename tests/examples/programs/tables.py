"""Dynamic programming by diagonals, all shortest paths, elimination in place, a bitonic sort, a histogram equalised, tridiagonal systems."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu, log_level=ti.ERROR)


def keep(name, field):
    values = field.to_numpy().ravel()
    if values.dtype.kind != "f":
        values = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64) % 1009
    print(name, np.sum(values * (np.arange(values.size) % 13 + 1.0)).round(3))


n = 61
a = ti.field(ti.i32, n); b = ti.field(ti.i32, n); L = ti.field(ti.i16, (n + 1, n + 1)); d = ti.field(ti.i32, (n, n)); lu = ti.field(ti.f64, (n, n)); s = ti.field(ti.i32, 256); u = ti.field(ti.i32, n); img = ti.field(ti.u8, (40, 33)); cdf = ti.field(ti.u32, 256); rev = ti.field(ti.i32, n); x = ti.field(ti.f64, (5, n))
rng = np.random.default_rng(0); a.from_numpy(rng.integers(0, 4, n).astype(np.int32)); b.from_numpy(rng.integers(0, 4, n).astype(np.int32)); dn = rng.integers(1, 99, (n, n)).astype(np.int32); d.from_numpy(dn); A = rng.normal(size=(n, n)) + n * np.eye(n); lu.from_numpy(A); sn = rng.permutation(256).astype(np.int32); s.from_numpy(sn); img.from_numpy(rng.integers(0, 80, (40, 33)).astype(np.uint8)); rev.from_numpy(np.arange(n, dtype=np.int32))
@ti.kernel
def lcs(k: ti.i32):
    for i in range(1, n + 1):
        j = k - i
        if 1 <= j <= n:
            L[i, j] = L[i - 1, j - 1] + 1 if a[i - 1] == b[j - 1] else ti.max(L[i - 1, j], L[i, j - 1])
@ti.kernel
def fw(k: ti.i32):
    for i, j in d: d[i, j] = ti.min(d[i, j], d[i, k] + d[k, j])
@ti.kernel
def elim(k: ti.i32):
    for i in range(k + 1, n): lu[i, k] /= lu[k, k]
    for i, j in ti.ndrange((k + 1, n), (k + 1, n)): lu[i, j] -= lu[i, k] * lu[k, j]
@ti.kernel
def bitonic(k: ti.i32, j: ti.i32):
    for i in range(256):
        p = i ^ j
        if p > i:
            up = (i & k) == 0
            if (s[i] > s[p]) == up: s[i], s[p] = s[p], s[i]
@ti.kernel
def reverse():
    for i in range(n // 2): rev[i], rev[n - 1 - i] = rev[n - 1 - i], rev[i]
@ti.kernel
def equalise():
    for i, j in img: cdf[img[i, j]] += 1
    t = ti.u32(0)
    ti.loop_config(serialize=True)
    for k in range(256):
        t += cdf[k]
        cdf[k] = t
    lo = cdf[0]
    for i, j in img: img[i, j] = ti.cast((cdf[img[i, j]] - lo) * 255 // (40 * 33 - lo), ti.u8)
@ti.kernel
def thomas():
    for r in range(5):
        c = ti.Vector.zero(ti.f64, 61)
        c[0] = -1.0 / 4; x[r, 0] = (r + 1.0) / 4
        for i in range(1, n):
            m = 4 + c[i - 1]
            c[i] = -1.0 / m
            x[r, i] = ((r + i) % 7 + x[r, i - 1]) / m
        for k in range(n - 1):
            i = n - 2 - k
            x[r, i] -= c[i] * x[r, i + 1]
for k in range(2, 2 * n + 1): lcs(k)
for k in range(n): fw(k); elim(k)
k = 2
while k <= 256:
    j = k // 2
    while j: bitonic(k, j); j //= 2
    k *= 2
reverse(); equalise(); thomas()
for nm in ('L', 'd', 'lu', 's', 'rev', 'img', 'cdf', 'x'): keep(nm, globals()[nm])
