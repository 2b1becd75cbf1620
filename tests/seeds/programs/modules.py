import sys

import shadesmith as ti

arch = getattr(ti, sys.argv[1])
ti.init(arch=arch)
a = ti.field(ti.f32, shape=(4, 4))
b = ti.field(ti.i32, shape=8)
x, y = 3, 4


@ti.kernel
def foo():
    for i, j in a:
        a[i, j] = i + j


@ti.kernel
def bar():
    for i in b:
        b[i] += 1


@ti.kernel
def bar_tmpl(a: ti.template()):
    x = a
    b[0] = x


@ti.kernel
def bar_tmpl_multiple_args(a: ti.template(), b: ti.template()):
    x = a
    y = b
    globals_of_both[0] = x * 10 + y


globals_of_both = ti.field(ti.i32, shape=1)

m = ti.aot.Module(arch)
m.add_field("a", a)
m.add_field("b", b)
m.add_kernel(foo)
m.add_kernel(bar)
with m.add_kernel_template(bar_tmpl) as kt:
    kt.instantiate(a=x)
    kt.instantiate(a=y)
with m.add_kernel_template(bar_tmpl_multiple_args) as kt:
    kt.instantiate(a=x, b=y)
m.save("module")
m.archive("module.tcm")
