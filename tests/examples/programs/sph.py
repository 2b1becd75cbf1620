import math, sys
import numpy as np
import taichi as ti
ti.init(arch=ti.cpu)
@ti.data_oriented
class ParticleSystem:
    def __init__(self, n, box=(2.0, 1.0)):
        self.dim, self.n, self.box = 2, n, np.array(box)
        self.h = 0.1
        self.cell = self.h
        self.grid_shape = np.ceil(self.box / self.cell).astype(int)
        self.x = ti.Vector.field(2, float, n)
        self.v = ti.Vector.field(2, dtype=float)
        self.rho = ti.field(dtype=float)
        self.p = ti.field(dtype=float)
        self.node = ti.root.dense(ti.i, n)
        self.node.place(self.v, self.rho, self.p)
        self.acc = ti.Vector.field(2, ti.f32, shape=(n,))
        self.count = ti.field(int, shape=tuple(self.grid_shape))
        self.neigh = ti.field(int)
        self.cells = ti.root.dense(ti.ij, tuple(int(k) for k in self.grid_shape))
        self.cells.dense(ti.k, 64).place(self.neigh)
    @ti.func
    def cubic(self, r):
        res = ti.cast(0.0, ti.f32)
        k = 40 / 7 / math.pi / self.h ** 2
        q = r / self.h
        if q <= 1.0:
            if q <= 0.5:
                q2 = ti.pow(q, 2)
                q3 = ti.pow(q, 3)
                res = k * (6.0 * q3 - 6.0 * q2 + 1)
            else:
                res = k * 2 * ti.pow(1 - q, 3.0)
        return res
    @ti.func
    def pos_to_index(self, p):
        return (p / self.cell).cast(int)
    @ti.func
    def for_all_neighbors(self, i, ret: ti.template(), task: ti.template()):
        c = self.pos_to_index(self.x[i])
        for o in ti.grouped(ti.ndrange(*((-1, 2),) * 2)):
            cell = c + o
            if all(cell >= 0) and cell[0] < self.grid_shape[0] and cell.y < self.grid_shape[1]:
                for k in range(self.count[cell]):
                    j = self.neigh[cell, k]
                    if i != j and (self.x[i] - self.x[j]).norm() < self.h:
                        task(i, j, ret)
    @ti.kernel
    def update_grid(self):
        for I in ti.grouped(self.count):
            self.count[I] = 0
        ti.loop_config(serialize=True)
        for i in self.x:
            c = ti.max(ti.min(self.pos_to_index(self.x[i]), ti.Vector(list(self.grid_shape - 1))), 0)
            k = ti.atomic_add(self.count[c], 1)
            if k < 64: self.neigh[c, k] = i
@ti.data_oriented
class Solver:
    g = ti.Vector([0.0, -9.81])
    def __init__(self, ps):
        self.ps = ps
        self.dt = ti.field(float, shape=())
        self.dt[None] = 1e-3
        self.mass = 0.8 * 0.05 ** 2 * 1000
    @ti.func
    def density_task(self, i, j, ret: ti.template()):
        ret += self.mass * self.ps.cubic((self.ps.x[i] - self.ps.x[j]).norm())
    @ti.func
    def force_task(self, i, j, ret: ti.template()):
        d = self.ps.x[i] - self.ps.x[j]
        ret += d.normalized(1e-6) * (self.ps.p[i] + self.ps.p[j]) / (self.ps.rho[i] * self.ps.rho[j]) * self.mass * 0.1
    @ti.kernel
    def substep(self):
        for i in self.ps.x:
            den = self.mass * self.ps.cubic(0.0)
            self.ps.for_all_neighbors(i, den, self.density_task)
            self.ps.rho[i] = den
            self.ps.p[i] = 50.0 * (ti.max(den / 1000, 1.0) ** 7 - 1.0)
        for i in self.ps.acc:
            a = self.g
            self.ps.for_all_neighbors(i, a, self.force_task)
            self.ps.acc[i] = a
        for i in self.ps.x:
            self.ps.v[i] += self.dt[None] * self.ps.acc[i]
            self.ps.x[i] += self.dt[None] * self.ps.v[i]
            for d in ti.static(range(2)):
                if self.ps.x[i][d] < 0.01:
                    self.ps.x[i][d] = 0.01
                    self.ps.v[i][d] *= -0.5
                elif self.ps.x[i][d] > self.ps.box[d] - 0.01:
                    self.ps.x[i][d] = self.ps.box[d] - 0.01
                    self.ps.v[i][d] *= -0.5
ps = ParticleSystem(400)
g = np.stack(np.meshgrid(np.arange(20), np.arange(20), indexing='ij'), -1).reshape(-1, 2).astype(np.float32) * 0.045 + 0.1
ps.x.from_numpy(g)
s = Solver(ps)
for f in range(30):
    ps.update_grid(); s.substep()
x = ps.x.to_numpy()
print('sph %.4f %.4f %.4f %.3f' % (x.mean(), x.std(), np.abs(ps.v.to_numpy()).max(), ps.rho.to_numpy().mean()), ps.count.to_numpy().sum())
