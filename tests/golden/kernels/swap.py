import shadesmith as ti


def swap(a: ti.types.ndarray(dtype=ti.f32, ndim=1)):
    ti.loop_config(block_dim=64)
    for i in a:
        tile = ti.simt.block.SharedArray(64, ti.f32)
        t = ti.simt.block.thread_idx()
        tile[t] = a[i]
        ti.simt.block.sync()
        a[i] = tile[63 - t]


kernel, arguments = swap, ((ti.f32, 1),)
