import numpy as np, taichi as ti
ti.init(arch=ti.cpu)
vec9 = ti.types.vector(9, float); imat9x2 = ti.types.matrix(9, 2, int)
@ti.data_oriented
class lbm_solver:
    def __init__(self, nx, ny, niu, bc_type, bc_value):
        self.nx, self.ny, self.niu = nx, ny, niu
        self.tau = 3.0 * niu + 0.5
        self.inv_tau = 1.0 / self.tau
        self.rho = ti.field(float, shape=(nx, ny)); self.vel = ti.Vector.field(2, float, shape=(nx, ny))
        self.mask = ti.field(float, shape=(nx, ny))
        self.f_old = ti.Vector.field(9, float, shape=(nx, ny)); self.f_new = ti.Vector.field(9, float, shape=(nx, ny))
        self.w = vec9(4, 1, 1, 1, 1, 1 / 4, 1 / 4, 1 / 4, 1 / 4) / 9.0
        self.e = imat9x2([0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1])
        self.bc_type = ti.field(int, 4); self.bc_type.from_numpy(np.array(bc_type, dtype=np.int32))
        self.bc_value = ti.Vector.field(2, float, shape=4); self.bc_value.from_numpy(np.array(bc_value, dtype=np.float32))
    @ti.func
    def f_eq(self, i, j):
        eu = self.e @ self.vel[i, j]
        uv = self.vel[i, j].norm_sqr()
        return self.w * self.rho[i, j] * (1 + 3 * eu + 4.5 * eu * eu - 1.5 * uv)
    @ti.kernel
    def init(self):
        self.vel.fill(0); self.rho.fill(1); self.mask.fill(0)
        for i, j in self.rho:
            self.f_old[i, j] = self.f_new[i, j] = self.f_eq(i, j)
            if (i - self.nx / 3) ** 2 + (j - self.ny / 2) ** 2 <= 36: self.mask[i, j] = 1.0
    @ti.kernel
    def collide_and_stream(self):
        for i, j in ti.ndrange((1, self.nx - 1), (1, self.ny - 1)):
            for k in ti.static(range(9)):
                ip = i - self.e[k, 0]
                jp = j - self.e[k, 1]
                feq = self.f_eq(ip, jp)
                self.f_new[i, j][k] = (1 - self.inv_tau) * self.f_old[ip, jp][k] + feq[k] * self.inv_tau
    @ti.kernel
    def update_macro_var(self):
        for i, j in ti.ndrange((1, self.nx - 1), (1, self.ny - 1)):
            self.rho[i, j] = 0
            self.vel[i, j] = 0, 0
            for k in ti.static(range(9)):
                self.f_old[i, j][k] = self.f_new[i, j][k]
                self.rho[i, j] += self.f_new[i, j][k]
                self.vel[i, j] += ti.Vector([self.e[k, 0], self.e[k, 1]]) * self.f_new[i, j][k]
            self.vel[i, j] /= self.rho[i, j]
    @ti.kernel
    def apply_bc(self):
        for j in range(1, self.ny - 1):
            self.apply_bc_core(1, 0, 0, j, 1, j)
            self.apply_bc_core(1, 2, self.nx - 1, j, self.nx - 2, j)
        for i in range(self.nx):
            self.apply_bc_core(1, 1, i, self.ny - 1, i, self.ny - 2)
            self.apply_bc_core(1, 3, i, 0, i, 1)
        for i, j in ti.ndrange(self.nx, self.ny):
            if self.mask[i, j] == 1:
                self.vel[i, j] = 0, 0
                inb = 0; jnb = 0
                if i >= self.nx / 3: inb = i + 1
                else: inb = i - 1
                if j >= self.ny / 2: jnb = j + 1
                else: jnb = j - 1
                self.apply_bc_core(0, 0, i, j, inb, jnb)
    @ti.func
    def apply_bc_core(self, outer, dr, ibc, jbc, inb, jnb):
        if outer == 1:
            if self.bc_type[dr] == 0: self.vel[ibc, jbc] = self.bc_value[dr]
            elif self.bc_type[dr] == 1: self.vel[ibc, jbc] = self.vel[inb, jnb]
        self.rho[ibc, jbc] = self.rho[inb, jnb]
        self.f_old[ibc, jbc] = self.f_eq(ibc, jbc) - self.f_eq(inb, jnb) + self.f_old[inb, jnb]
l = lbm_solver(90, 40, 0.02, [0, 0, 1, 0], [[0.1, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
l.init()
for i in range(100):
    l.collide_and_stream(); l.update_macro_var(); l.apply_bc()
vel = l.vel.to_numpy(); ugrad = np.gradient(vel[:, :, 0])
print('lbm %.5f %.5f %.5f %.5f' % (vel[..., 0].mean(), vel[..., 1].std(), l.rho.to_numpy().mean(), (ugrad[1]**2).sum()))
