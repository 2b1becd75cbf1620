import shadesmith as ti


@ti.real_func
def halve(n: ti.i32, steps: ti.i32) -> ti.i32:
    if n % 2 == 0:
        return halve(n // 2, steps + 1)
    return grow(n, steps)


@ti.real_func
def grow(n: ti.i32, steps: ti.i32) -> ti.i32:
    return steps if n == 1 else halve(3 * n + 1, steps + 1)


def cycles(lengths: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for n in lengths:
        lengths[n] = halve(n + 1, 0)


kernel, arguments = cycles, ((ti.i32, 1),)
