"""Random program 5191 of dialect portable."""

import numpy as np

import shadesmith as ti

S = ti.types.struct(p=ti.types.matrix(2, 3, ti.i32))
s = S.field(shape=(5,))
a = ti.field(ti.u64)
ti.root.dynamic(ti.i, 20, chunk_size=4).place(a)
b = ti.field(ti.i32)
ti.root.bitmasked(ti.ijk, (2, 3, 3)).place(b)
c = ti.field(ti.i8, shape=5)
d = ti.field(ti.i8, shape=())
f = ti.field(ti.i32, shape=8)
h = ti.field(ti.i64)
ti.root.dense(ti.i, (1,)).dense(ti.i, (5,)).place(h)
i = ti.field(ti.i64, shape=())


@ti.func
def f0(p0):
    t1 = 59
    x2 = (ti.Matrix.zero(ti.u16, 3, 3).min() - ti.raw_mod(p0, 2))
    x2 = ti.cast((((x2 & 2) != 0) or (x2 < p0 >= p0)), ti.u64)
    t1 ^= ti.cast(x2, ti.i32)
    return ti.cast((((~ti.cast((-7), ti.i32)) - (p0 + p0)) ^ t1), ti.i8)


@ti.kernel
def k0(g: ti.types.ndarray(dtype=ti.i32, ndim=1), n0: ti.u64, n1: ti.i32) -> ti.u64:
    t1 = 72
    x2 = ti.cast(ti.Matrix([[g[13], ti.cast(3, ti.i32)], [ti.cast(n0, ti.i32), ti.cast(d[None], ti.i32)]]), ti.u64).min()
    t1 += ti.cast(x2, ti.i32)
    i[None] += t1
    return ti.cast(n0, ti.u64)


@ti.kernel
def k1(g: ti.types.ndarray(dtype=ti.i32, ndim=1), n0: ti.i8, n1: ti.i8):
    t1 = 58
    for i2 in g:
        t3 = 4
        ti.atomic_and(f[ti.cast(n0, ti.i32) % 8], (~n1))
        x4 = a[i2]
        t3 += ti.cast(x4, ti.i32)
        g[i2] += t3
        a[i2] = c[0]
        t3 = t3 * 31 + ti.cast(x4, ti.i32)
    if ((n1 not in (7, -1, 6)) or (ti.cast((-7), ti.i32) in (3, 0, -2))):
        if ((f0((c[4] - a[16])) & 4) != 0):
            for k5 in range(5, -3, -2):
                for s6 in ti.static(range(2)):
                    x7 = S((ti.Matrix.one(ti.u16, 2, 2) @ (s[3].p @ ti.Matrix([[ti.cast(ti.cast(1, ti.i32), ti.u64), ti.cast(k5, ti.u64), ti.cast(b[s6, 1, s6], ti.u64)], [ti.cast(ti.cast(s6, ti.i32), ti.u64), ti.cast(ti.cast(s6, ti.i32), ti.u64), ti.cast(ti.cast(1073741824, ti.i32), ti.u64)], [ti.cast(n0, ti.u64), ti.cast(c[s6], ti.u64), ti.cast(n0, ti.u64)]]))))
                    x8 = s6
                    x8 <<= 21
                for k9 in range(2):
                    x10 = S(p=((ti.Matrix([[ti.cast(k5, ti.u64), ti.cast(ti.cast(5, ti.i32), ti.u64), ti.cast(k9, ti.u64)], [ti.cast(n0, ti.u64), ti.cast(b[k9, 0, k9], ti.u64), a[k9]]]) - s[0].p) // ((k9 & 7) + 1)))
                    a[k9] = ((ti.cast(n1, ti.i64) ** 3) & (b[k9, 0, k9] // 100))
                    t1 = t1 * 31 + ti.cast(x10.p[1, 2], ti.i32)
                for k11 in range(1):
                    x12 = S(((s[4].p - ti.Matrix([[ti.cast(n0, ti.u64), ti.cast(k5, ti.u64), ti.cast(ti.cast((-1), ti.i32), ti.u64)], [ti.cast(k11, ti.u64), ti.cast(k11, ti.u64), ti.cast(ti.cast(0, ti.i32), ti.u64)]])) // (-7)))
                    g[1] >>= 17
                    x13 = S(p=((x12.p - n1) >> 9))
                    t1 += ti.cast(x13.p[0, 0], ti.i32)
                    t1 = t1 * 31 + ti.cast(x12.p[1, 1], ti.i32)
            x14 = (f0(ti.cast(n1, ti.u64)) - f0(ti.cast(h[4], ti.u64)))
            for k15 in range(2):
                w16 = 0
                while w16 < 2 and (((b[1, k15, w16] if ((ti.cast((-7), ti.i32) & 2) != 0) else w16) & 4) != 0):
                    w16 += 1
                    x14 += 3
            t1 = t1 * 31 + ti.cast(x14, ti.i32)
        b[f[5] % 2, 2, ti.cast(a[2], ti.i32) % 3] = ((~f[7]) if (ti.cast(ti.math.clz(ti.cast(n1, ti.i64)), ti.i32) < g[6]) else ti.cast(ti.cast(65535, ti.i32), ti.i8))
        w17 = 0
        while w17 < 2:
            w17 += 1
            x18 = S(p=(ti.Matrix([[ti.cast(a[w17], ti.i8), ti.cast(ti.cast(5, ti.i32), ti.i8)], [ti.cast(ti.cast(1587037934, ti.i32), ti.i8), n0]]) @ max(s[w17].p, ti.Matrix([[n0, ti.cast(a[w17], ti.i8), ti.cast(ti.cast(1804096624, ti.i32), ti.i8)], [n0, c[w17], ti.cast(b[0, w17, w17], ti.i8)]]))))
            if (n0 >= w17):
                x18.p = ti.min(ti.select(((n0 & 2) != 0), s[1].p, ti.cast(ti.Matrix([[ti.cast(n0, ti.u64), ti.cast(w17, ti.u64), ti.cast(c[w17], ti.u64)], [ti.cast(w17, ti.u64), ti.cast(ti.cast((-166787999), ti.i32), ti.u64), ti.cast(b[1, 1, 1], ti.u64)]]), ti.i32)), s[ti.cast(n0, ti.i32) % 5].p)
            else:
                x19 = (ti.cast(d[None], ti.u64) ^ (w17 * n1))
                for k20 in range(-2, 1, 2):
                    x18.p = ti.Matrix([[(n0 if ((d[None] & 4) != 0) else c[1]), ti.cast(ti.cast((-2), ti.i32), ti.i8), ti.cast(int(a[w17]), ti.i8)], [ti.cast((n1 - x19), ti.i8), ti.cast(ti.select((c[w17] in (1, 2, 8)), k20, x19), ti.i8), ti.cast(g[ti.cast(n1, ti.i32) % 20], ti.i8)]])
                    a[w17] = f0(ti.cast(x18.p.min(), ti.u64))
                    x21 = S(p=x18.p)
                    t1 += ti.cast(x21.p[0, 1], ti.i32)
                x22 = n0
                t1 ^= ti.cast(x22, ti.i32)
                t1 += ti.cast(x19, ti.i32)
            x23 = (761127685 if (w17 != n0 <= n0) else (n1 % w17))
            t1 = t1 * 31 + ti.cast(x18.p[1, 2], ti.i32)
            t1 = t1 * 31 + ti.cast(x23, ti.i32)
    s[g[2] % 5].p[0, 2] = ti.cast(ti.math.popcnt(ti.cast(ti.max(ti.cast(31, ti.i32), n1), ti.u64)), ti.i32)
    i[None] += t1


@ti.kernel
def k2(g: ti.types.ndarray(dtype=ti.i32, ndim=1), n0: ti.i32, n1: ti.i32):
    t1 = 0
    for i2, i3, i4 in ti.ndrange((1, 3), (2, 5), (-1, 2)):
        t5 = 43
        if (((b[i2 - 1, i3 - 2, i4 + 1] + i3) <= i4) and ((d[None] << (ti.cast(128, ti.i32) & 7)) <= f[2])):
            x6 = ti.min((i3 - i3), ti.cast(n1, ti.i8))
            t5 += ti.cast(x6, ti.i32)
        ti.atomic_add(a[4], (ti.cast(100, ti.i32) % (ti.cast(6, ti.i32) + 1)))
        b[i2 - 1, i3 - 2, i4 + 1] = (ti.Vector([c[3], ti.cast(ti.cast(5, ti.i32), ti.i8), ti.cast(i2, ti.i8), ti.cast(n0, ti.i8), ti.cast(b[i2 - 1, i3 - 2, i4 + 1], ti.i8)])[4] - (~i2))
        b[i2 - 1, i3 - 2, i4 + 1] += t5
    s[2].p -= s[n1 % 5].p
    x7 = S(p=(s[4].p + f[4]))
    w8 = 0
    while w8 < 4 and (n0 <= n0):
        w8 += 1
        x7.p = ti.Matrix([[ti.cast((n1 + n1), ti.i16), ti.cast(n1, ti.i16), ti.cast(w8, ti.i16)], [ti.cast((n1 - n0), ti.i16), ti.cast(f0(ti.cast(n0, ti.u64)), ti.i16), ti.cast(ti.cast(i[None], ti.i8), ti.i16)]])
        for s9 in ti.static(range(1)):
            x7.p = (min(s[w8].p, ti.Matrix([[ti.cast(c[0], ti.i32), ti.cast(s9, ti.i32), s[1].p[0, 2]], [ti.cast(i[None], ti.i32), w8, ti.cast(i[None], ti.i32)]])) if (((w8 & 2) != 0) and (ti.cast(1, ti.i32) in (2, 3, 4))) else ti.cast(x7.p, ti.i32))
            x7.p = x7.p
        x10 = ti.raw_div((b[1, 1, 2] * g[w8]), ((ti.cast(i[None], ti.i32) % 8) + 1))
        t1 ^= ti.cast(x10, ti.i32)
    t1 ^= ti.cast(x7.p[0, 0], ti.i32)
    i[None] += t1


def run():
    f.from_numpy(np.array([2147483646, -666871374, -1375679268, 84, 36, -75, 2147483646, -7], np.int32))
    g = np.array([6, -2, -1, 6, 484298999, 8, 6, -71, -424432882, 7, -62, 5, 1073741823, -468120154, -2128770713, -2, 65535, 121, -8, -4], np.int32)
    h.from_numpy(np.array([4, 4294967296, -9223372036854775808, 4611686018427387904, 4294967297], np.int64))
    results = []
    results.append(("k0", k0(g, 6, 9)))
    k1(g, 4, -16)
    k2(g, 4, 1)
    k2(g, 2, -1719724823)
    results.append(("a", a.to_numpy()))
    results.append(("b", b.to_numpy()))
    results.append(("c", c.to_numpy()))
    results.append(("d", d.to_numpy()))
    results.append(("s.p", s.p.to_numpy()))
    results.append(("f", f.to_numpy()))
    results.append(("g", g))
    results.append(("h", h.to_numpy()))
    results.append(("i", i.to_numpy()))
    return results
