import shadesmith as ti

ti.init(arch=ti.python, log_level=ti.WARN)
x = ti.field(ti.f32)
block = ti.root.pointer(ti.i, 64)
block.dense(ti.i, 16).place(x)


def prune():
    for i in block:
        if x[16 * i] == 0:
            ti.deactivate(block, i)


kernel, arguments = prune, ()
