import taichi as ti
import numpy as np
ti.init(arch=ti.cpu)
loss = ti.field(ti.f32, shape=(), needs_grad=True)
w = ti.Vector.field(2, ti.f32, shape=5, needs_grad=True)
t = ti.field(ti.f32, shape=5)
block = ti.root.pointer(ti.ij, 4)
leaf = block.bitmasked(ti.ij, 8)
g = ti.field(ti.f32)
leaf.place(g)
dyn = ti.root.dense(ti.i, 4).dynamic(ti.j, 64, chunk_size=8)
lst = ti.field(ti.i32)
dyn.place(lst)

@ti.kernel
def scatter():
    for k in range(40):
        i = (k * 7) % 32
        j = (k * k) % 32
        g[i, j] += 1.0 + k
    for k in range(40):
        lst[k % 4].append(k * k)

@ti.kernel
def stats() -> ti.types.vector(3, ti.f32):
    n = 0.0
    s = 0.0
    b = 0.0
    for i, j in g:
        n += 1
        s += g[i, j]
    for i, j in block:
        b += 1
    return ti.Vector([n, s, b])

@ti.kernel
def clean(th: ti.f32):
    for i, j in g:
        if g[i, j] < th:
            ti.deactivate(leaf, [i, j])

@ti.kernel
def lens() -> ti.types.vector(4, ti.i32):
    r = ti.Vector([0, 0, 0, 0])
    for i in ti.static(range(4)):
        r[i] = ti.length(dyn, i) if ti.static(False) else lst[i].length()
    return r

@ti.kernel
def forward():
    for i in w:
        p = w[i]
        e = ti.exp(-p.norm_sqr()) * ti.sin(p[0] * 3) - t[i]
        loss[None] += e ** 2 + 0.01 * ti.abs(p).sum()

scatter()
print(stats())
clean(20.0)
print(stats(), lens())
block.deactivate_all()
print(stats(), g[3, 3])
w.from_numpy(np.linspace(-1, 1, 10).reshape(5, 2).astype(np.float32))
t.from_numpy(np.linspace(0, 0.5, 5).astype(np.float32))
for it in range(50):
    with ti.ad.Tape(loss):
        forward()
    for i in range(5):
        w[i] -= 0.1 * w.grad[i]
print(f"{loss[None]:.4f}", np.round(w.to_numpy(), 3).tolist())
