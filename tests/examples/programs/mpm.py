import taichi as ti, numpy as np
ti.init(arch=ti.cpu, random_seed=0)
dim, n_grid, n_p = 3, 16, 600
dx = 1 / n_grid; dt = 4e-4; p_rho, E = 1, 400; p_vol = (dx * .5) ** 2; p_mass = p_vol * p_rho
Particle = ti.types.struct(x=ti.types.vector(3, ti.f32), v=ti.types.vector(3, ti.f32), C=ti.types.matrix(3, 3, ti.f32), J=float)
P = Particle.field(shape=(n_p,), layout=ti.Layout.SOA)
Gv = ti.Vector.field(dim, float); Gm = ti.field(float)
blk = ti.root.pointer(ti.ijk, n_grid // 4); blk.dense(ti.ijk, 4).place(Gv, Gm)
nb = (3,) * dim
@ti.kernel
def substep():
    for i in P:
        base = (P[i].x / dx - 0.5).cast(int); fx = P[i].x / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        stress = -dt * 4 * E * p_vol * (P[i].J - 1) / dx ** 2
        aff = ti.Matrix.identity(float, dim) * stress + p_mass * P[i].C
        for off in ti.static(ti.grouped(ti.ndrange(*nb))):
            dpos = (off - fx) * dx; wt = 1.0
            for k in ti.static(range(dim)): wt *= w[off[k]][k]
            Gv[base + off] += wt * (p_mass * P[i].v + aff @ dpos)
            Gm[base + off] += wt * p_mass
    for I in ti.grouped(Gm):
        if Gm[I] > 0: Gv[I] /= Gm[I]
        Gv[I].y -= dt * 9.8
        c = I < 3 and Gv[I] < 0 or I > n_grid - 3 and Gv[I] > 0
        Gv[I] = ti.select(c, 0, Gv[I])
    for i in P:
        base = ti.floor(P[i].x / dx - 0.5, int); fx = P[i].x / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        nv = ti.zero(P[i].v); nC = ti.zero(P[i].C)
        for off in ti.static(ti.grouped(ti.ndrange(*nb))):
            wt = 1.0
            for k in ti.static(range(dim)): wt *= w[off[k]][k]
            g = Gv[base + off]
            nv += wt * g; nC += 4 * wt * g.outer_product(off - fx) / dx
        P[i].v = nv; P[i].x += dt * nv; P[i].J *= 1 + dt * nC.trace() / 1; P[i].C = nC
pts = (np.random.RandomState(0).rand(n_p, 3) * 0.3 + 0.3).astype(np.float32)
P.x.from_numpy(pts); P.J.fill(1.0)
for f in range(40):
    blk.deactivate_all(); substep()
a = P.to_numpy(); print('mpm %.5f %.5f %.4f %.5f' % (a['x'].mean(), a['x'].std(), a['v'][:, 1].mean(), a['J'].mean()))
