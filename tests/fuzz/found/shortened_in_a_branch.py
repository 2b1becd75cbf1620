"""Random program 1076 of dialect portable."""

import numpy as np

import shadesmith as ti



@ti.dataclass
class S:
    p: ti.u16
    q: ti.u64
    r: ti.i32


s = S.field(shape=(3, 4))
b = ti.field(ti.u64)
ti.root.dense(ti.i, (20,)).place(b)
c = ti.field(ti.u64, shape=8)
e = ti.field(ti.i32)
ti.root.dense(ti.ij, (3, 4)).dense(ti.ij, (1, 1)).place(e)
i = ti.field(ti.i32, shape=8)
j = ti.field(ti.i64, shape=(2, 3, 3))
l = ti.field(ti.i64, shape=())


@ti.func
def f0(p0, p1):
    t1 = 90
    if (ti.select((p1 >= 2), (-2), ((ti.cast(3, ti.i32) - 31) if (ti.cast((ti.cast(1073741824, ti.i32) not in (5, 6, 2)), ti.i16) > 65536 != (-2)) else ti.Vector([ti.cast(ti.cast((-7), ti.i32), ti.i64), ti.cast(ti.cast(0, ti.i32), ti.i64), ti.cast(ti.cast(31, ti.i32), ti.i64)]).min())) in (-3, 1, -1)):
        x2 = S((((8 + p1) % 10) + ((-2) if ((ti.cast(5, ti.i32) != 0) or (ti.cast(3, ti.i32) not in (-3, 7, 3))) else ti.cast(((p0 & 1) != 0), ti.u8))), (ti.Vector([ti.cast(p1, ti.u64), ti.cast(ti.cast(100, ti.i32), ti.u64)]).dot(ti.cast(ti.Vector([ti.cast(p1, ti.u64), ti.cast(p0, ti.u64)]), ti.u64)) ** 5), p0)
        x3 = p1
        x2.q = (ti.select((((ti.cast(31, ti.i32) >> 22) & 4) != 0), (ti.cast(2, ti.i32) + (-1684166938)), (ti.cast(1, ti.i32) >> 13)) ** 2)
        t1 ^= ti.cast(x2.r, ti.i32)
        t1 += ti.cast(x2.p, ti.i32)
        t1 = t1 * 31 + ti.cast(x3, ti.i32)
    if ((p1 + p1) != p0 <= 32767):
        return ti.cast((ti.cast(ti.cast(31, ti.i32), ti.i64) ** 2), ti.u16)
    return ti.cast(((~(ti.cast(ti.math.clz((-2)), ti.i32) + (-1794266006))) ^ t1), ti.u16)


@ti.kernel
def k0(a: ti.types.ndarray(dtype=ti.u64, ndim=3), d: ti.types.ndarray(dtype=ti.u64, ndim=3), k: ti.types.ndarray(dtype=ti.i32, ndim=1), n0: ti.u16, n1: ti.u64):
    t1 = 46
    for i2, i3 in ti.ndrange((-1, 2), (2, 6)):
        t4 = 32
        x5 = (((ti.Vector.zero(ti.u64, 3).sum() | (a[1, 0, 0] ^ i3)) ** 2) in (6, 1, 8))
        s[i2 + 1, i3 - 2].r = (ti.cast(ti.Vector([ti.cast(s[i2 + 1, i3 - 2].r, ti.i8), ti.cast(ti.cast(1073741824, ti.i32), ti.i8)]), ti.i64) if (((-1) ^ k[12]) > n0 < i2) else ti.cast(ti.min(ti.Vector([ti.cast(i2, ti.u64), ti.cast(i3, ti.u64)]), ti.Vector([ti.cast(k[8], ti.u16), n0])), ti.i64))[0]
        t4 += ti.cast(x5, ti.i32)
        s[i2 + 1, i3 - 2].r += t4
        s[i2 + 1, i3 - 2].p = n1
        s[i2 + 1, i3 - 2].q = n1
        t4 ^= ti.cast(x5, ti.i32)
    ti.atomic_add(e[k[8] % 3, ti.cast(n1, ti.i32) % 4], d[ti.cast(n0, ti.i32) % 2, 0, ti.cast(a[0, 1, 0], ti.i32) % 3])
    if (ti.cast(7, ti.i32) not in (1, -3, 6)):
        x6 = f0(ti.cast(ti.cast(ti.math.popcnt(ti.cast((n0 | n1), ti.u32)), ti.i32), ti.u16), ti.cast((ti.Vector([ti.cast(e[2, 1], ti.u16), ti.cast(i[6], ti.u16)]).sum() - (ti.cast(n0, ti.i64) ** 5)), ti.i32))
        t1 += ti.cast(x6, ti.i32)
    if (((e[ti.cast(d[0, 1, 0], ti.i32) % 3, ti.cast(n1, ti.i32) & 3] if (not ((ti.cast(100, ti.i32) == n0 <= 31) and ((e[1, 2] & 2) != 0))) else j[ti.cast(n0, ti.i32) & 1, s[1, 1].r % 3, 2]) & 2) != 0):
        x7 = (((ti.Matrix([[ti.cast(n1, ti.i64), ti.cast(d[0, 0, 1], ti.i64), ti.cast(n1, ti.i64)], [ti.cast(ti.cast((-1405838343), ti.i32), ti.i64), ti.cast(i[7], ti.i64), ti.cast(s[2, 3].q, ti.i64)], [ti.cast(c[4], ti.i64), ti.cast(d[1, 0, 2], ti.i64), ti.cast(e[0, 0], ti.i64)]]) if ((ti.cast(3, ti.i32) & 4) != 0) else ti.cast(ti.Matrix([[b[12], ti.cast(n0, ti.u64), n1], [ti.cast(ti.cast(128, ti.i32), ti.u64), d[0, 2, 1], n1], [ti.cast(n0, ti.u64), ti.cast(n0, ti.u64), ti.cast(n0, ti.u64)]]), ti.i64)) + ti.Matrix([[ti.cast(n1, ti.u16), n0, ti.cast(n1, ti.u16)], [n0, ti.cast(e[0, 2], ti.u16), ti.cast(k[1], ti.u16)], [ti.cast(k[4], ti.u16), ti.cast(n1, ti.u16), n0]])) // n1)
        for k8 in range(4):
            if ((ti.select(((k8 | n1) >= k8), f0(ti.cast(ti.cast(3, ti.i32), ti.u16), ti.cast(a[0, 1, 1], ti.i32)), (e[2, 0] << 21)) + (s[ti.cast(n0, ti.i32) % 3, k8].q % 2)) >= (ti.min(n0, k8, k8) * n1)):
                if (ti.Matrix.one(ti.i64, 3, 3).determinant() < k8):
                    continue
            else:
                for k9 in range(ti.cast(n0, ti.i32) % 2):
                    x7 -= ti.Matrix([[ti.cast(n1, ti.i32), ti.cast((-32768), ti.i32), ti.cast(s[2, 3].p, ti.i32)], [ti.cast(0, ti.i32), k8, ti.cast(n0, ti.i32)], [ti.cast(b[0], ti.i32), k8, k8]])
                    if ((ti.cast(ti.math.clz(ti.cast(k8, ti.u32)), ti.i32) & 4) != 0):
                        continue
                    ti.atomic_and(l[None], l[None])
                for k10 in range(2):
                    if (((s[2, k8].q & 4) != 0) and (n0 < 3)):
                        break
                    x11 = S(k10, ((x7 ^ ti.Matrix([[ti.cast(k8, ti.i64), ti.cast(ti.cast(1, ti.i32), ti.i64), ti.cast(b[1], ti.i64)], [ti.cast(c[k8], ti.i64), ti.cast(e[1, k10], ti.i64), ti.cast(k10, ti.i64)], [ti.cast(n0, ti.i64), ti.cast(s[0, 0].p, ti.i64), ti.cast(b[19], ti.i64)]])).trace() + a[k10, k10, k10]), n1)
                    if ((ti.cast((-1), ti.i32) >> (e[1, 2] & 7)) < n0):
                        continue
        x7 = max(ti.max(ti.Matrix([[ti.cast(e[0, 3], ti.i64), ti.cast(e[0, 3], ti.i64), ti.cast(n0, ti.i64)], [ti.cast(n0, ti.i64), ti.cast(ti.cast(0, ti.i32), ti.i64), ti.cast(s[2, 3].r, ti.i64)], [ti.cast(e[2, 3], ti.i64), ti.cast(d[0, 1, 0], ti.i64), ti.cast(n1, ti.i64)]]), ti.Matrix([[n0, ti.cast(l[None], ti.u16), n0], [ti.cast(ti.cast(8, ti.i32), ti.u16), ti.cast(ti.cast(256, ti.i32), ti.u16), ti.cast(n1, ti.u16)], [n0, ti.cast(ti.cast(470979317, ti.i32), ti.u16), ti.cast(n1, ti.u16)]])), x7)
        t1 ^= ti.cast(x7[0, 0], ti.i32)
    else:
        if ((ti.cast((((n0 + j[1, 2, 2]) in (-3, 5, 2)) and ((n1 - s[0, 3].p) != n0)), ti.u16) & 1) != 0):
            if (not (((e[ti.cast(d[1, 2, 2], ti.i32) % 3, i[2] & 3] >> 13) & 1) != 0)):
                x12 = S(p=((~(s[1, 0].p << 5)) // 4), q=((ti.Matrix([[ti.cast(s[2, 1].p, ti.i32), ti.cast(n1, ti.i32), ti.cast(n0, ti.i32)], [ti.cast(c[2], ti.i32), ti.cast(n1, ti.i32), ti.cast(n0, ti.i32)]]) << 19) @ ti.Matrix([[ti.cast(n0, ti.u64), ti.cast(n0, ti.u64), ti.cast(n0, ti.u64)], [a[1, 0, 2], ti.cast(n0, ti.u64), ti.cast(s[0, 2].r, ti.u64)], [ti.cast(n0, ti.u64), ti.cast(n0, ti.u64), c[7]]]))[0, 1], r=n0)
                t1 = t1 * 31 + ti.cast(x12.q, ti.i32)
                t1 += ti.cast(x12.r, ti.i32)
                t1 = t1 * 31 + ti.cast(x12.p, ti.i32)
            w13 = 0
            while w13 < 2:
                w13 += 1
                w14 = 0
                while w14 < 1 and ((w13 if ((w13 & 2) != 0) else b[w14]) < 8):
                    w14 += 1
                    x15 = (ti.Vector([ti.cast(w14, ti.i64), ti.cast(w14, ti.i64), ti.cast(i[7], ti.i64), ti.cast(c[0], ti.i64), ti.cast(n1, ti.i64)])[1] ^ ti.raw_mod(f0(ti.cast(k[w13], ti.u16), ti.cast(n1, ti.i32)), f0(n0, w13)))
                    x15 = (ti.max(ti.cast(((w14 & 2) != 0), ti.u64), ti.bit_cast(ti.cast((-1), ti.i32), ti.i32), s[ti.cast(x15, ti.i32) % 3, w14].q) - (ti.Matrix([[ti.cast(e[w13, 2], ti.i64), ti.cast(a[w14, w13, 1], ti.i64)], [ti.cast(n0, ti.i64), x15]])[1, 0] * s[1, w13].r))
                    t1 = t1 * 31 + ti.cast(x15, ti.i32)
                for s16 in ti.static(range(3)):
                    s[2, s16].q = (((s[s16, w14].q if ((i[w14] & 4) != 0) else n0) >> 37) << 1)
                ti.atomic_add(j[w14, w13, w13], n1)
        else:
            x17 = (max(ti.Matrix([[ti.cast(n1, ti.u16), n0], [n0, ti.cast(a[0, 0, 1], ti.u16)]]), max(ti.Matrix([[ti.cast(1823936812, ti.i32), ti.cast(0, ti.i32)], [ti.cast(s[0, 1].q, ti.i32), ti.cast(n1, ti.i32)]]), ti.Matrix([[n1, ti.cast(n0, ti.u64)], [ti.cast(ti.cast((-32768), ti.i32), ti.u64), n1]]))).sum() != l[None])
            x18 = n0
            t1 = t1 * 31 + ti.cast(x17, ti.i32)
            t1 += ti.cast(x18, ti.i32)
        ti.atomic_xor(i[1], ti.Vector([ti.cast(ti.cast(100, ti.i32), ti.i64), ti.cast(n0, ti.i64)])[0])
        if ((ti.select((ti.cast(f0(ti.cast(ti.cast(2147483647, ti.i32), ti.u16), ti.cast(s[2, 1].q, ti.i32)), ti.i64) != (0 | n0)), (n1 + n0), ((n0 - n0) % 8)) & 1) != 0):
            for k19 in range(7, 6, -1):
                x20 = S(p=f0(ti.cast(k19, ti.u16), ti.cast((-32768), ti.i32)), q=(k19 + ti.cast((k19 * n0), ti.i8)), r=b[k19 % 20])
                t1 = t1 * 31 + ti.cast(x20.p, ti.i32)
                t1 = t1 * 31 + ti.cast(x20.q, ti.i32)
                t1 ^= ti.cast(x20.r, ti.i32)
    for I21 in ti.grouped(k):
        t22 = 69
        ti.atomic_max(s[ti.cast(65535, ti.i32) % 3, I21[0] & 3].q, (~ti.cast((-1404211781), ti.i32)))
        k[I21[0]] = t22
    l[None] += t1


@ti.kernel
def k1(a: ti.types.ndarray(dtype=ti.u64, ndim=3), d: ti.types.ndarray(dtype=ti.u64, ndim=3), k: ti.types.ndarray(dtype=ti.i32, ndim=1), n0: ti.u16, n1: ti.u64):
    t1 = 36
    for I2 in ti.grouped(b):
        t3 = 3
        for k4, k5 in ti.ndrange(2, 2):
            w6 = 0
            while w6 < 1:
                w6 += 1
                for s7 in ti.static(range(1)):
                    x8 = (-1)
            k[I2[0]] = ti.min(ti.abs(ti.abs(k[I2[0]])), ((n0 + n0) // (-8)), ((k4 ^ w6) ** 2))
        k[I2[0]] += t3
    l[None] += t1


def run():
    a = np.array([4549742806548114912, 16963975738906255593, 14610117825260965643, 18446744073709551614, 18446744073709551615, 4294967297, 1, 49, 9, 0, 4294967296, 6, 1, 0, 4294967297, 3, 4294967295, 18446744073709551615], np.uint64).reshape((2, 3, 3))
    b.from_numpy(np.array([17420006820021676179, 18, 4294967297, 18446744073709551614, 1, 16195157203058874429, 4294967297, 1766782372214567065, 1, 14312981158442642976, 4294967295, 37, 4, 0, 9, 8, 67, 4611686018427387903, 6218977102162110452, 8], np.uint64))
    c.from_numpy(np.array([17053543963975124986, 6708322751130178231, 4294967296, 4611686018427387903, 7860692303123262950, 3, 11835071627405058993, 17144810398240149288], np.uint64))
    d = np.array([57, 1783196247991638834, 4, 6536555612005103906, 0, 9, 4294967295, 4294967297, 9, 4159710560999426822, 0, 2, 4294967296, 4611686018427387905, 7611694673264465869, 9, 3910725486943846788, 99], np.uint64).reshape((2, 3, 3))
    e.from_numpy(np.array([412327971, 425960478, -1, -1, -6, 3, 8, 221503103, 2147483646, 409218543, 1073741823, 65536], np.int32).reshape((3, 4)))
    j.from_numpy(np.array([4, 4, -9223372036854775808, 7781943487120622239, -1, -91, -2, 702316809470564529, -9223372036854775807, -8, -3224528798888489473, 2, -8828887632926241763, -9, 28, -85, 9, 4294967297], np.int64).reshape((2, 3, 3)))
    k = np.array([-2035968564, 65537, 1651355955, -4, -1246292527, 2, -7, 7, -2147483647, 205151406, 2147483647, 7, 1073741823, -7, 9, -9, -2147483647, 1990117018, -4, 1], np.int32)
    results = []
    k0(a, d, k, 2, 8)
    k1(a, d, k, 68, 117)
    results.append(("a", a))
    results.append(("b", b.to_numpy()))
    results.append(("c", c.to_numpy()))
    results.append(("d", d))
    results.append(("e", e.to_numpy()))
    results.append(("s.p", s.p.to_numpy()))
    results.append(("s.q", s.q.to_numpy()))
    results.append(("s.r", s.r.to_numpy()))
    results.append(("i", i.to_numpy()))
    results.append(("j", j.to_numpy()))
    results.append(("k", k))
    results.append(("l", l.to_numpy()))
    return results
