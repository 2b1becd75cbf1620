"""One step of a Lattice-Boltzmann fluid, D2Q9: collision and streaming, then density and velocity."""

import shadesmith as ti

nx = 801
ny = 201
viscosity = 0.01
inv_tau = 1.0 / (3.0 * viscosity + 0.5)

w = ti.types.vector(9, float)(4, 1, 1, 1, 1, 1 / 4, 1 / 4, 1 / 4, 1 / 4) / 9.0
e = ti.types.matrix(9, 2, int)([0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1])

rho = ti.field(float, (nx, ny))
vel = ti.Vector.field(2, float, (nx, ny))
f_old = ti.Vector.field(9, float, (nx, ny))
f_new = ti.Vector.field(9, float, (nx, ny))


@ti.func
def f_eq(k, i, j):
    eu = e[k, 0] * vel[i, j].x + e[k, 1] * vel[i, j].y
    uv = vel[i, j].norm_sqr()
    return w[k] * rho[i, j] * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * uv)


@ti.kernel
def step():
    for i, j in ti.ndrange((1, nx - 1), (1, ny - 1)):
        for k in ti.static(range(9)):
            ip = i - e[k, 0]
            jp = j - e[k, 1]
            f_new[i, j][k] = (1 - inv_tau) * f_old[ip, jp][k] + inv_tau * f_eq(k, ip, jp)
    for i, j in ti.ndrange((1, nx - 1), (1, ny - 1)):
        rho[i, j] = 0
        vel[i, j] = 0, 0
        for k in ti.static(range(9)):
            f_old[i, j][k] = f_new[i, j][k]
            rho[i, j] += f_new[i, j][k]
            vel[i, j] += ti.Vector([e[k, 0], e[k, 1]]) * f_new[i, j][k]
        vel[i, j] /= rho[i, j]
