"""A product of matrices: tiles of 64 x 64 in shared memory, 4 x 4 results in the registers of each thread."""

import shadesmith as ti

n = 512
TILE = 64
DEPTH = 16

A = ti.field(ti.f32, (n, n))
B = ti.field(ti.f32, (n, n))
C = ti.field(ti.f32, (n, n))


@ti.kernel
def sgemm():
    ti.loop_config(block_dim=256)
    for t in range((n // TILE) * (n // TILE) * 256):
        sa = ti.simt.block.SharedArray((DEPTH, TILE), ti.f32)
        sb = ti.simt.block.SharedArray((DEPTH, TILE), ti.f32)
        tid = t % 256
        block = t // 256
        row, col = block // (n // TILE) * TILE, block % (n // TILE) * TILE
        ty, tx = tid // 16, tid % 16
        acc = ti.Matrix.zero(ti.f32, 4, 4)
        for k0 in range(n // DEPTH):
            for r in ti.static(range(4)):
                e = tid + r * 256
                sa[e % DEPTH, e // DEPTH] = A[row + e // DEPTH, k0 * DEPTH + e % DEPTH]
                sb[e // TILE, e % TILE] = B[k0 * DEPTH + e // TILE, col + e % TILE]
            ti.simt.block.sync()
            for k in ti.static(range(DEPTH)):
                for i, j in ti.static(ti.ndrange(4, 4)):
                    acc[i, j] += sa[k, ty + 16 * i] * sb[k, tx + 16 * j]
            ti.simt.block.sync()
        for i, j in ti.static(ti.ndrange(4, 4)):
            C[row + ty + 16 * i, col + tx + 16 * j] = acc[i, j]
