"""Particles to a grid in three dimensions: the scatter of MLS-MPM, 27 nodes for each particle."""

import shadesmith as ti

n_particles = 1 << 16
n_grid = 64
dx = 1.0 / n_grid
dt = 1e-4
p_vol = (dx * 0.5) ** 3
p_mass = p_vol * 1.0
E = 400.0

x = ti.Vector.field(3, float, n_particles)
v = ti.Vector.field(3, float, n_particles)
C = ti.Matrix.field(3, 3, float, n_particles)
J = ti.field(float, n_particles)
grid_v = ti.Vector.field(3, float, (n_grid, n_grid, n_grid))
grid_m = ti.field(float, (n_grid, n_grid, n_grid))


@ti.kernel
def p2g():
    for p in x:
        Xp = x[p] / dx
        base = int(Xp - 0.5)
        fx = Xp - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        stress = -dt * 4 * E * p_vol * (J[p] - 1) / dx**2
        affine = ti.Matrix.identity(float, 3) * stress + p_mass * C[p]
        for i, j, k in ti.static(ti.ndrange(3, 3, 3)):
            offset = ti.Vector([i, j, k])
            dpos = (offset - fx) * dx
            weight = w[i].x * w[j].y * w[k].z
            grid_v[base + offset] += weight * (p_mass * v[p] + affine @ dpos)
            grid_m[base + offset] += weight * p_mass
