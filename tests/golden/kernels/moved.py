import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
columns = ti.field(ti.f32, shape=(6, 10), order="ji", offset=(-3, 2))
tiles = ti.field(ti.f32)
ti.root.dense(ti.ij, (3, 5)).dense(ti.ij, 2).place(tiles, offset=(-3, 2))


def swap(n: ti.i32):
    for i, j in columns:
        columns[i, j] = tiles[i, j]
    for i, j in tiles:
        tiles[i, j] = columns[n - i, j]


kernel, arguments, options = swap, (ti.i32,), {"check_out_of_bound": True}
