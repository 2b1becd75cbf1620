"""Shallow water by finite volumes: limited slopes from nine points, Rusanov's flux at the four faces of each cell."""

import shadesmith as ti

n = 512
dx = 1.0 / n
dt = 1e-4
g = 9.81

vec3 = ti.math.vec3

q = ti.Vector.field(3, float, (n, n))  # depth, momentum in x and in y
q_new = ti.Vector.field(3, float, (n, n))


@ti.func
def minmod(a, b):
    r = 0.0
    if a * b > 0:
        r = a if abs(a) < abs(b) else b
    return r


@ti.func
def slope(a, b, c):
    s = vec3(0.0)
    for k in ti.static(range(3)):
        s[k] = minmod(b[k] - a[k], c[k] - b[k])
    return s


@ti.func
def flux(u):
    """Flux along x."""
    speed = u.y / u.x
    return vec3(u.y, u.y * speed + 0.5 * g * u.x * u.x, u.z * speed)


@ti.func
def wave_speed(u):
    return abs(u.y / u.x) + ti.sqrt(g * u.x)


@ti.func
def face(a, b, c, d):
    """Flux between b and c."""
    left = b + 0.5 * slope(a, b, c)
    right = c - 0.5 * slope(b, c, d)
    fastest = ti.max(wave_speed(left), wave_speed(right))
    return 0.5 * (flux(left) + flux(right)) - 0.5 * fastest * (right - left)


@ti.func
def turned(u):
    """Exchange of x and y."""
    return vec3(u.x, u.z, u.y)


@ti.func
def flux_x(i, j):
    return face(q[i - 1, j], q[i, j], q[i + 1, j], q[i + 2, j])


@ti.func
def flux_y(i, j):
    return turned(face(turned(q[i, j - 1]), turned(q[i, j]), turned(q[i, j + 1]), turned(q[i, j + 2])))


@ti.kernel
def update():
    for i, j in ti.ndrange((2, n - 2), (2, n - 2)):
        change = flux_x(i, j) - flux_x(i - 1, j) + flux_y(i, j) - flux_y(i, j - 1)
        q_new[i, j] = q[i, j] - dt / dx * change
