"""SHA-256, CRC-32, xorshift, powers modulo 2^60, Morton codes, a factorial of 512 bits, sieve, queens: integers of 8 to 64 bits."""

import numpy as np
import taichi as ti

ti.init(arch=ti.cpu, log_level=ti.ERROR)


def keep(name, field):
    values = field.to_numpy().ravel()
    if values.dtype.kind != "f":
        values = values.astype(np.uint64 if values.dtype.kind == "u" else np.int64) % 1009
    print(name, np.sum(values * (np.arange(values.size) % 13 + 1.0)).round(3))


K = [0x428a2f98,0x71374491,0xb5c0fbcf,0xe9b5dba5,0x3956c25b,0x59f111f1,0x923f82a4,0xab1c5ed5,0xd807aa98,0x12835b01,0x243185be,0x550c7dc3,0x72be5d74,0x80deb1fe,0x9bdc06a7,0xc19bf174,0xe49b69c1,0xefbe4786,0x0fc19dc6,0x240ca1cc,0x2de92c6f,0x4a7484aa,0x5cb0a9dc,0x76f988da,0x983e5152,0xa831c66d,0xb00327c8,0xbf597fc7,0xc6e00bf3,0xd5a79147,0x06ca6351,0x14292967,0x27b70a85,0x2e1b2138,0x4d2c6dfc,0x53380d13,0x650a7354,0x766a0abb,0x81c2c92e,0x92722c85,0xa2bfe8a1,0xa81a664b,0xc24b8b70,0xc76c51a3,0xd192e819,0xd6990624,0xf40e3585,0x106aa070,0x19a4c116,0x1e376c08,0x2748774c,0x34b0bcb5,0x391c0cb3,0x4ed8aa4a,0x5b9cca4f,0x682e6ff3,0x748f82ee,0x78a5636f,0x84c87814,0x8cc70208,0x90befffa,0xa4506ceb,0xbef9a3f7,0xc67178f2]
kt = ti.field(ti.u32, 64); kt.from_numpy(np.array(K, np.uint32))
N = 40
dig = ti.field(ti.u32, (N, 8)); crc = ti.field(ti.u32, N); tab = ti.field(ti.u32, 256); mt = ti.field(ti.u64, N); mod = ti.field(ti.u64, N); mort = ti.field(ti.u64, N); big = ti.field(ti.u32, 16); fis = ti.field(ti.f32, N); q16 = ti.field(ti.i32, N); sieve = ti.field(ti.u8, 500); nq = ti.field(ti.i32, 9); gray = ti.field(ti.i32, N); bits = ti.field(ti.u64, (N, 4))
@ti.func
def rotr(x: ti.u32, n: ti.template()) -> ti.u32: return (x >> n) | (x << (32 - n))
@ti.kernel
def sha():
    for m in range(N):
        w = ti.Vector([ti.u32(0)] * 16)
        h = ti.Vector([ti.u32(0x6a09e667), ti.u32(0xbb67ae85), ti.u32(0x3c6ef372), ti.u32(0xa54ff53a), ti.u32(0x510e527f), ti.u32(0x9b05688c), ti.u32(0x1f83d9ab), ti.u32(0x5be0cd19)])
        w[0] = ti.u32(m) << 24 | ti.u32(0x800000); w[15] = 8
        a, b, c, d, e, f, g, hh = h[0], h[1], h[2], h[3], h[4], h[5], h[6], h[7]
        for t in range(64):
            if t >= 16:
                x = w[(t + 1) % 16]; y = w[(t + 14) % 16]
                w[t % 16] += (rotr(x, 7) ^ rotr(x, 18) ^ (x >> 3)) + w[(t + 9) % 16] + (rotr(y, 17) ^ rotr(y, 19) ^ (y >> 10))
            t1 = hh + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + ((e & f) ^ (~e & g)) + kt[t] + w[t % 16]
            t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))
            hh = g; g = f; f = e; e = d + t1; d = c; c = b; b = a; a = t1 + t2
        dig[m, 0] = h[0] + a; dig[m, 1] = h[1] + b; dig[m, 2] = h[2] + c; dig[m, 3] = h[3] + d; dig[m, 4] = h[4] + e; dig[m, 5] = h[5] + f; dig[m, 6] = h[6] + g; dig[m, 7] = h[7] + hh
@ti.kernel
def crcs():
    for i in tab:
        c = ti.u32(i)
        for _ in range(8):
            c = (c >> 1) ^ (ti.u32(0xEDB88320) if c & 1 else ti.u32(0))
        tab[i] = c
    for m in crc:
        c = ~ti.u32(0)
        for k in range(m):
            c = tab[(c ^ ti.u32(k * 37 & 0xff)) & 255] ^ (c >> 8)
        crc[m] = ~c
@ti.func
def mulmod(a: ti.u64, b: ti.u64, m: ti.u64) -> ti.u64:
    r = ti.u64(0); x = a % m; y = b
    while y > 0:
        if y & 1: r = (r + x) % m
        x = (x << 1) % m
        y >>= 1
    return r
@ti.kernel
def u64s():
    for i in range(N):
        s = ti.u64(88172645463325252) ^ (ti.u64(i) << 33)
        for _ in range(10):
            s ^= s << 13; s ^= s >> 7; s ^= s << 17
        mt[i] = s
        b = ti.u64(i + 2); e = 1000000005; r = ti.u64(1); M = ti.u64(1000000007) * ti.u64(998244353)
        while e > 0:
            if e & 1: r = mulmod(r, b, M)
            b = mulmod(b, b, M); e //= 2
        mod[i] = r
        v = ti.u64(0)
        for k in range(21):
            v |= (ti.u64(i * 7919 >> k & 1) << (3 * k)) | (ti.u64((i * 104729 >> k) & 1) << (3 * k + 1)) | (ti.u64(i >> k & 1) << (3 * k + 2))
        mort[i] = v
        gray[i] = (i ^ (i >> 1)) - ti.math.popcnt(i) * ti.math.clz(i + 1)
        y = ti.bit_cast(ti.cast(i + 0.5, ti.f32), ti.i32)
        y = 0x5f3759df - (y >> 1)
        f = ti.bit_cast(y, ti.f32)
        fis[i] = f * (1.5 - 0.5 * (i + 0.5) * f * f)
        x = (i - 20) * 10000; z = ti.i32((ti.i64(x) * x) >> 16)
        q16[i] = x - ti.i32((ti.i64(z) * x >> 16) // 6)
@ti.kernel
def bigint():
    ti.loop_config(serialize=True)
    for it in range(1):
        big[0] = 1
        for k in range(1, 60):
            c = ti.u64(0)
            for j in range(16):
                t = ti.u64(big[j]) * ti.u64(k) + c
                big[j] = ti.cast(t & ti.u64(0xffffffff), ti.u32)
                c = t >> 32
@ti.kernel
def sieves():
    ti.loop_config(serialize=True)
    for i in range(2, 500):
        if sieve[i] == 0:
            j = i * i
            while j < 500:
                sieve[j] |= 1
                j += i
@ti.kernel
def queens():
    for n in range(1, 9):
        full = (1 << n) - 1
        c = ti.Vector([0] * 10); l = ti.Vector([0] * 10); r = ti.Vector([0] * 10); p = ti.Vector([0] * 10)
        d = 0; p[0] = full; cnt = 0
        while d >= 0:
            if p[d] == 0: d -= 1
            else:
                b = p[d] & -p[d]
                p[d] ^= b
                if c[d] | b == full: cnt += 1
                else:
                    c[d + 1] = c[d] | b; l[d + 1] = (l[d] | b) << 1; r[d + 1] = (r[d] | b) >> 1
                    p[d + 1] = full & ~(c[d + 1] | l[d + 1] | r[d + 1])
                    d += 1
        nq[n] = cnt
@ti.kernel
def life64():
    for i in range(N):
        for k in range(4): bits[i, k] = ti.u64(i * 2654435 + k) * ti.u64(0x9E3779B97F4A7C15)
    for i in range(N):
        for k in ti.static(range(3)):
            a = bits[i, k]; b = bits[i, (k + 1) % 4]
            s = a ^ b; c = a & b
            bits[i, 3] ^= ((s << 1 | s >> 63) + (c >> (i % 64))) ^ ~(a << (k * 21))
sha(); crcs(); u64s(); bigint(); sieves(); queens(); life64()
for n in ('dig', 'crc', 'mt', 'mod', 'mort', 'gray', 'fis', 'q16', 'big', 'sieve', 'nq', 'bits'): keep(n, globals()[n])
