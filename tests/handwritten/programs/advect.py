"""Advection of stable fluids: a backtrace by Runge and Kutta's third order, then bilinear interpolation."""

import shadesmith as ti

n = 512
dt = 0.03
dye_decay = 0.99

velocity = ti.Vector.field(2, float, (n, n))
new_velocity = ti.Vector.field(2, float, (n, n))
dye = ti.Vector.field(3, float, (n, n))
new_dye = ti.Vector.field(3, float, (n, n))


@ti.func
def sample(qf, u, v):
    I = ti.Vector([int(u), int(v)])
    I = ti.max(0, ti.min(n - 1, I))
    return qf[I]


@ti.func
def lerp(vl, vr, frac):
    return vl + frac * (vr - vl)


@ti.func
def bilerp(vf, p):
    u, v = p
    s, t = u - 0.5, v - 0.5
    iu, iv = ti.floor(s), ti.floor(t)
    fu, fv = s - iu, t - iv
    a = sample(vf, iu, iv)
    b = sample(vf, iu + 1, iv)
    c = sample(vf, iu, iv + 1)
    d = sample(vf, iu + 1, iv + 1)
    return lerp(lerp(a, b, fu), lerp(c, d, fu), fv)


@ti.func
def backtrace(vf: ti.template(), p, dt_):
    v1 = bilerp(vf, p)
    p1 = p - 0.5 * dt_ * v1
    v2 = bilerp(vf, p1)
    p2 = p - 0.75 * dt_ * v2
    v3 = bilerp(vf, p2)
    return p - dt_ * ((2 / 9) * v1 + (1 / 3) * v2 + (4 / 9) * v3)


@ti.kernel
def advect():
    for i, j in velocity:
        p = ti.Vector([i, j]) + 0.5
        p = backtrace(velocity, p, dt)
        new_velocity[i, j] = bilerp(velocity, p)
        new_dye[i, j] = bilerp(dye, p) * dye_decay
