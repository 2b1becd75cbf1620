"""Density and pressure of smoothed particle hydrodynamics: particles in cells, sums over the 27 cells around each."""

import shadesmith as ti

n_particles = 1 << 16
n_cells = 32
max_per_cell = 32
h = 1.0 / n_cells
mass = 1000.0 / n_particles
rest_density = 1000.0
stiffness = 50.0
poly6_factor = 315.0 / (64.0 * ti.math.pi * h**9)

x = ti.Vector.field(3, float, n_particles)
density = ti.field(float, n_particles)
pressure = ti.field(float, n_particles)
count = ti.field(int, (n_cells, n_cells, n_cells))
cell = ti.field(int, (n_cells, n_cells, n_cells, max_per_cell))


@ti.func
def cell_of(p):
    return ti.floor(p / h, int)


@ti.func
def inside(c):
    return all(c >= 0) and all(c < n_cells)


@ti.func
def poly6(r2):
    d = ti.max(h * h - r2, 0.0)
    return poly6_factor * d * d * d


@ti.kernel
def compute_density():
    for I in ti.grouped(count):
        count[I] = 0
    for i in x:
        c = cell_of(x[i])
        if inside(c):
            k = ti.atomic_add(count[c], 1)
            if k < max_per_cell:
                cell[c, k] = i
    for i in x:
        c = cell_of(x[i])
        rho = 0.0
        for offset in ti.grouped(ti.ndrange((-1, 2), (-1, 2), (-1, 2))):
            neighbour = c + offset
            if inside(neighbour):
                for k in range(ti.min(count[neighbour], max_per_cell)):
                    r = x[i] - x[cell[neighbour, k]]
                    rho += mass * poly6(r.norm_sqr())
        density[i] = rho
        pressure[i] = ti.max(stiffness * ((rho / rest_density) ** 7 - 1.0), 0.0)
