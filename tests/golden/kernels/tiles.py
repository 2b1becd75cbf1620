import shadesmith as ti


def tiles(a: ti.types.ndarray(dtype=ti.f32, ndim=1), sums: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    ti.loop_config(block_dim=64)
    for i in a:
        tile = ti.simt.block.SharedArray(64, ti.f32)
        t = ti.simt.block.thread_idx()
        x = a[i] * a[i]
        tile[t] = x
        ti.simt.block.sync()
        stride = 32
        while stride > 0:
            if t < stride:
                tile[t] += tile[t + stride]
            ti.simt.block.sync()
            stride >>= 1
        a[i] = x / tile[0]
        if t == 0:
            sums[i // 64] = tile[0]


kernel, arguments = tiles, ((ti.f32, 1), (ti.f32, 1))
