# elementary automata in bits, with shared exponents and fixed-point fields
import taichi as ti
ti.init(arch=ti.cpu)
W, T = 256, 64
u1 = ti.types.quant.int(bits=1, signed=False)
row = ti.field(dtype=u1)
block = ti.root.dense(ti.i, T).dense(ti.j, W // 32)
block.quant_array(ti.j, 32, max_num_bits=32).place(row)
fx = ti.types.quant.fixed(bits=10, max_value=2.0)
fl = ti.types.quant.float(exp=6, frac=9, signed=True)
i7 = ti.types.quant.int(bits=7, signed=True)
u5 = ti.types.quant.int(bits=5, signed=False)
a, b, c, d = (ti.field(dtype=t) for t in (fx, fl, i7, u5))
pack = ti.BitpackedFields(max_num_bits=64)
pack.place(a, c, d)
pack.place(b)
ti.root.dense(ti.i, 20).place(pack)
e1, e2 = (ti.field(dtype=ti.types.quant.float(exp=5, frac=10, signed=True)) for _ in range(2))
sh = ti.BitpackedFields(max_num_bits=32)
sh.place(e1, e2, shared_exponent=True)
ti.root.dense(ti.i, 16).place(sh)

@ti.kernel
def seed():
    row[0, W // 2] = 1

@ti.kernel
def step(t: ti.i32, rule: ti.i32):
    for j in range(W):
        l = row[t, (j - 1) % W]
        m = row[t, j]
        r = row[t, (j + 1) % W]
        k = (l << 2) | (m << 1) | r
        row[t + 1, j] = (rule >> k) & 1

@ti.kernel
def count(t: ti.i32) -> ti.i32:
    s = 0
    for j in range(W):
        s += ti.cast(row[t, j], ti.i32)
    return s

@ti.kernel
def fill():
    for i in a:
        a[i] = -2.0 + 0.2 * i
        b[i] = (-1.5) ** i
        c[i] = i * 7 - 70
        d[i] = i * 3
    for i in e1:
        e1[i] = 1.0 / (i + 1)
        e2[i] = ti.sin(float(i))

@ti.kernel
def accumulate():
    for i in range(400):
        ti.atomic_add(c[i % 20], 1)
        ti.atomic_add(d[i % 20], 2)
        a[i % 20] += 0.01

seed()
for t in range(T - 1):
    step(t, 110)
print([count(t) for t in range(0, T, 7)])
fill()
accumulate()
for f in (a, b, c, d):
    print([round(float(f[i]), 4) for i in range(20)])
print([(round(e1[i], 4), round(e2[i], 4)) for i in range(16)])
