"""The five kernels of docs/reading-sources.md. `examples` returns them with their arguments."""

import shadesmith as ti

image = ti.types.ndarray(ti.f32, ndim=2)


# --- jacobi
@ti.kernel
def jacobi(a: image, b: image, w: ti.f32):
    for i, j in a:
        n, m = a.shape
        if 0 < i < n - 1 and 0 < j < m - 1:
            s = a[i - 1, j] + a[i + 1, j] + a[i, j - 1] + a[i, j + 1]
            b[i, j] = a[i, j] + w * (0.25 * s - a[i, j])


# --- scatter
cells = 64
dx = 1.0 / cells
dt = 1e-3
x = ti.Vector.field(2, ti.f32, shape=4096)
v = ti.Vector.field(2, ti.f32, shape=4096)
mass = ti.field(ti.f32, shape=(cells, cells))


@ti.kernel
def scatter(p_mass: ti.f32):
    for p in x:
        base = int(x[p] / dx - 0.5)
        fx = x[p] / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1.0) ** 2, 0.5 * (fx - 0.5) ** 2]
        for i, j in ti.static(ti.ndrange(3, 3)):
            mass[base[0] + i, base[1] + j] += w[i].x * w[j].y * p_mass
        x[p] += dt * v[p]


# --- advect
n = 256
velocity = ti.Vector.field(2, ti.f32, shape=(n, n))
dye = ti.field(ti.f32, shape=(n, n))
new_dye = ti.field(ti.f32, shape=(n, n))


@ti.func
def bilerp(field, p):
    s = ti.math.clamp(p - 0.5, 0.0, n - 1.001)
    i, j = int(s.x), int(s.y)
    f = s - ti.Vector([i, j])
    lower = field[i, j] + f.x * (field[i + 1, j] - field[i, j])
    upper = field[i, j + 1] + f.x * (field[i + 1, j + 1] - field[i, j + 1])
    return lower + f.y * (upper - lower)


@ti.kernel
def advect():
    for i, j in dye:
        p = ti.Vector([i + 0.5, j + 0.5])
        middle = p - 0.5 * dt * bilerp(velocity, p)
        p -= dt * bilerp(velocity, middle)
        new_dye[i, j] = bilerp(dye, p)


# --- energy
@ti.kernel
def energy(p_mass: ti.f32) -> ti.f32:
    total = 0.0
    for p in v:
        total += 0.5 * p_mass * v[p].norm_sqr()
    return total


# --- smooth
SIZE = 256


@ti.kernel
def smooth(a: ti.types.ndarray(ti.f32, ndim=1), b: ti.types.ndarray(ti.f32, ndim=1)):
    ti.loop_config(block_dim=SIZE)
    for i in range(a.shape[0]):
        tile = ti.simt.block.SharedArray((SIZE,), ti.f32)
        t = i % SIZE
        tile[t] = a[i]
        ti.simt.block.sync()
        b[i] = 0.5 * tile[t] + 0.5 * tile[(t + 1) % SIZE]


# --- end
def examples():
    """Return each kernel with its arguments."""
    plane, line = ti.ndarray(ti.f32, (4, 4)), ti.ndarray(ti.f32, 512)
    return {
        "jacobi": (jacobi, (plane, plane, 0.5)),
        "scatter": (scatter, (1.0,)),
        "advect": (advect, ()),
        "energy": (energy, (1.0,)),
        "smooth": (smooth, (line, line)),
    }
