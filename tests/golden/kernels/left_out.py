"""What passes dropped, said where a reader would ask: atomics, branches, a task."""

import shadesmith as ti

debug = False
order = 2


@ti.func
def slope(x: ti.template(), i):
    found = x[i + 1] - x[i]
    if order == 2:
        found = (x[i + 1] - x[i - 1]) / 2
    return found


@ti.kernel
def kernel(x: ti.types.ndarray(ti.f32, 1), dt: ti.f32):
    for i in x:
        if debug:
            x[i] = dt
    for i in range(1, x.shape[0] - 1):
        if debug:
            print(i, x[i])
        limit = 1
        x[i] -= dt * slope(x, i)
        if limit > 2:
            x[i] = 0.0
        elif order == 1:
            x[i] = 1.0
        else:
            x[i] *= 0.5
        if debug:
            print("done")
    if debug:
        print(x[0])


arguments = [(ti.f32, 1), ti.f32]
