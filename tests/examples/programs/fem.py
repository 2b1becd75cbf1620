import taichi as ti, numpy as np
ti.init(arch=ti.cpu, default_fp=ti.f64)
N = 12; NF = 2 * N ** 2; NV = (N + 1) ** 2; E, nu = 4e4, 0.2
mu, lam = E / 2 / (1 + nu), E * nu / (1 + nu) / (1 - 2 * nu)
pos = ti.Vector.field(2, float, NV, needs_grad=True); vel = ti.Vector.field(2, float, NV); f2v = ti.Vector.field(3, int, NF)
B = ti.Matrix.field(2, 2, float, NF); F = ti.Matrix.field(2, 2, float, NF, needs_grad=True); V = ti.field(float, NF, needs_grad=True)
phi = ti.field(float, NF); U = ti.field(float, (), needs_grad=True)
@ti.kernel
def update_U():
    for i in range(NF):
        ia, ib, ic = f2v[i]
        a, b, c = pos[ia], pos[ib], pos[ic]
        V[i] = abs((a - c).cross(b - c))
        D_i = ti.Matrix.cols([a - c, b - c])
        F[i] = D_i @ B[i]
    for i in range(NF):
        F_i = F[i]
        log_J_i = ti.log(F_i.determinant())
        phi_i = mu / 2 * ((F_i.transpose() @ F_i).trace() - 2)
        phi_i -= mu * log_J_i
        phi_i += lam / 2 * log_J_i ** 2
        phi[i] = phi_i
        U[None] += V[i] * phi_i
@ti.kernel
def advance(dt: float):
    for i in range(NV):
        vel[i] += dt * (-pos.grad[i] / (4 / N ** 2) + ti.Vector([0, -40.0]))
        vel[i] *= ti.exp(-dt * 2.0)
    for i in range(NV):
        disp = pos[i] - ti.Vector([0.5, 0.0]); d2 = disp.norm_sqr()
        if d2 <= 0.09:
            NoV = vel[i].dot(disp)
            if NoV < 0: vel[i] -= NoV * disp / d2
        cond = (pos[i] < 0) & (vel[i] < 0) | (pos[i] > 1) & (vel[i] > 0)
        for j in ti.static(range(pos.n)):
            if cond[j]: vel[i][j] = 0
        pos[i] += dt * vel[i]
@ti.kernel
def init():
    for i, j in ti.ndrange(N + 1, N + 1):
        k = i * (N + 1) + j
        pos[k] = ti.Vector([i, j]) / N * 0.25 + ti.Vector([0.45, 0.45]); vel[k] = ti.Vector([0, 0])
    for i, j in ti.ndrange(N, N):
        k = (i * N + j) * 2
        a = i * (N + 1) + j; b = a + 1; c = a + N + 2; d = a + N + 1
        f2v[k + 0] = [a, b, c]; f2v[k + 1] = [c, d, a]
    for i in range(NF):
        ia, ib, ic = f2v[i]
        B[i] = ti.Matrix.cols([pos[ia] - pos[ic], pos[ib] - pos[ic]]).inverse()
init()
for i in range(60):
    with ti.ad.Tape(loss=U): update_U()
    advance(2e-4)
p = pos.to_numpy(); print('fem %.6f %.6f %.6f' % (p.mean(), p.std(), U[None]), p[7].round(5).tolist())
