import shadesmith as ti

ti.init()


@ti.kernel
def add(tensor: ti.template(), delta: ti.i32):
    for i in tensor:
        tensor[i] += delta


x = ti.var(dt=ti.f32, shape=128)
y = ti.var(dt=ti.f32, shape=16)
add(x, 42)
add(x, 1)
add(y, 42)
