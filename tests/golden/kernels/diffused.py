# a thread computes four neighbours of a stencil by accesses of 16 bytes, and those at the border one by one
from described import described

import shadesmith as ti

n, m = 512, 256
u, w = (described(ti.f32, (n, m), "field", name) for name in "uw")


def diffused(rate: ti.f32):
    for i, j in u:
        if 0 < i < n - 1 and 0 < j < m - 1:
            total = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            w[i, j] = u[i, j] + rate * (total - 4.0 * u[i, j])


kernel, arguments = diffused, (ti.f32,)
