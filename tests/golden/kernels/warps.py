import shadesmith as ti
from shadesmith import simt


def warps(a: ti.types.ndarray(dtype=ti.i32, ndim=1), b: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    ti.loop_config(block_dim=256)
    for i in range(1024):
        x = simt.subgroup.inclusive_add(a[i])
        y = simt.warp.shfl_down_i32(ti.u32(0xFFFFFFFF), x, 1)
        if x > 0:
            y += simt.subgroup.reduce_max(x)
        b[i] = y + simt.block.sync_count_nonzero(y)


kernel, arguments = warps, ((ti.i32, 1), (ti.i32, 1))
