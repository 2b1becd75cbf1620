import taichi as ti
import sys
ti.init(arch=ti.vulkan)
N, B = 1024, 128
x = ti.field(ti.f32, N)
y = ti.field(ti.f32, N)
h = ti.field(ti.i32, 16)
rows = ti.field(ti.i32, (8, 8))

@ti.kernel
def fill():
    for i in x:
        x[i] = (i * 37 % 101) * 0.5

@ti.kernel
def reverse():
    ti.loop_config(block_dim=B)
    for i in range(N):
        tile = ti.simt.block.SharedArray((B,), ti.f32)
        t = i % B
        tile[t] = x[i]
        ti.simt.block.sync()
        y[i] = tile[B - 1 - t] + 1

@ti.kernel
def scan():
    ti.loop_config(block_dim=B)
    for i in range(N):
        s = ti.simt.block.SharedArray((B,), ti.f32)
        t = i % B
        s[t] = x[i]
        ti.simt.block.sync()
        off = 1
        while off < B:
            v = 0.0
            if t >= off:
                v = s[t - off]
            ti.simt.block.sync()
            s[t] = s[t] + v
            ti.simt.block.sync()
            off *= 2
        y[i] = s[t]

@ti.kernel
def hist():
    ti.loop_config(block_dim=B)
    for i in range(N):
        loc = ti.simt.block.SharedArray((16,), ti.i32)
        t = i % B
        if t < 16:
            loc[t] = 0
        ti.simt.block.sync()
        ti.atomic_add(loc[ti.cast(x[i], ti.i32) % 16], 1)
        ti.simt.block.sync()
        if t < 16:
            ti.atomic_add(h[t], loc[t])

@ti.kernel
def transpose():
    ti.loop_config(block_dim=64)
    for k in range(64):
        tile = ti.simt.block.SharedArray((8, 8), ti.i32)
        a, b = k // 8, k % 8
        tile[a, b] = a * 100 + b
        ti.simt.block.mem_sync()
        ti.simt.block.sync()
        rows[a, b] = tile[b, a]

fill()
reverse(); print(y.to_numpy()[[0, 1, 127, 128, 1023]], y.to_numpy().sum())
scan(); print(y.to_numpy()[[0, 1, 127, 128, 255, 1023]])
hist(); print(h.to_numpy(), h.to_numpy().sum())
transpose(); print(rows.to_numpy()[1], rows.to_numpy()[7])
