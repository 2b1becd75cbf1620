"""Programs as their authors write them: solvers, simulations, networks, renderers. Each has `inputs`, `loss`, `run`.

`RANGE` is that of the inputs, `START` replaces the values of some, `STEP` is that of the finite differences; `reset` is
called before each run.
"""

from __future__ import annotations

HEAD = """
import numpy as np
f64 = ti.f64
def F(shape=(), **k): return ti.field(f64, shape, needs_grad=True, **k)
def V(n, shape=(), **k): return ti.Vector.field(n, f64, shape, needs_grad=True, **k)
loss = F()
"""

PROGRAMS = {
    "rk4": """
N = 3
state, param = V(3, N), F(3)
@ti.func
def lorenz(s, p): return ti.Vector([p[0] * (s[1] - s[0]), s[0] * (p[1] - s[2]) - s[1], s[0] * s[1] - p[2] * s[2]])
@ti.func
def rk4(s, p, dt):
    k1 = lorenz(s, p)
    k2 = lorenz(s + dt / 2 * k1, p)
    k3 = lorenz(s + dt / 2 * k2, p)
    k4 = lorenz(s + dt * k3, p)
    return s + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
@ti.kernel
def integrate(steps: int, dt: f64):
    for i in state:
        s = state[i]
        p = ti.Vector([param[0], param[1], param[2]])
        for t in range(steps): s = rk4(s, p, dt)
        loss[None] += s.dot(s)
inputs = [state, param]
def run(): integrate(100, 0.01)
""",
    "adaptive ode": """
N = 4
y0, k = F(N), F(N)
@ti.kernel
def solve():
    for i in y0:
        t, y, dt, steps = 0.0, y0[i], 0.1, 0
        while t < 1.0 and steps < 1000:
            h = ti.min(dt, 1.0 - t)
            f0 = -k[i] * y * y
            ye = y + h * f0
            f1 = -k[i] * ye * ye
            yh = y + h * 0.5 * (f0 + f1)
            e = abs(yh - ye)
            if e < 1e-3:
                t += h
                y = yh
                dt = h * 1.5
            else:
                dt = h * 0.5
            steps += 1
        loss[None] += y * y
inputs = [y0, k]
def run(): solve()
""",
    "implicit layer": """
N = 4
W, b, z = F((N, N)), F(N), F(N)
@ti.kernel
def fixed_point(n: int):
    for _ in range(1):
        v = ti.Vector([0.0] * N)
        for it in range(n):
            u = ti.Vector([0.0] * N)
            for i in ti.static(range(N)):
                u[i] = b[i]
                for j in ti.static(range(N)): u[i] += 0.2 * W[i, j] * v[j]
                u[i] = ti.tanh(u[i])
            v = u
        for i in ti.static(range(N)): z[i] = v[i]
@ti.kernel
def measure():
    for i in z: loss[None] += z[i] ** 3
inputs = [W, b]
def run(): fixed_point(80); measure()
""",
    "mpm 1d": """
P, G, T = 6, 8, 4
x, v, C, J = F((T + 1, P)), F((T + 1, P)), F((T + 1, P)), F((T + 1, P))
gv, gm = F((T, G)), F((T, G))
dx, dt = 1.0 / G, 1e-2
@ti.kernel
def p2g(t: ti.i32):
    for p in range(P):
        base = int(x[t, p] / dx - 0.5)
        fx = x[t, p] / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        stress = -dt * 4 * (J[t, p] - 1) / dx**2
        affine = stress + C[t, p]
        for i in ti.static(range(3)):
            dpos = (i - fx) * dx
            gv[t, base + i] += w[i] * (v[t, p] + affine * dpos)
            gm[t, base + i] += w[i]
@ti.kernel
def g2p(t: ti.i32):
    for p in range(P):
        base = int(x[t, p] / dx - 0.5)
        fx = x[t, p] / dx - base
        w = [0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2]
        nv, nC = 0.0, 0.0
        for i in ti.static(range(3)):
            g = gv[t, base + i] / (gm[t, base + i] + 1e-10)
            nv += w[i] * g
            nC += 4 * w[i] * g * (i - fx) / dx
        v[t + 1, p] = nv
        x[t + 1, p] = x[t, p] + dt * nv
        C[t + 1, p] = nC
        J[t + 1, p] = J[t, p] * (1 + dt * nC)
@ti.kernel
def measure():
    for p in range(P): loss[None] += x[T, p] ** 2 + J[T, p] * v[T, p]
inputs = [x, v, J]
RANGE = (0.3, 0.7)
def reset(): gv.fill(0); gm.fill(0); C.fill(0.1)
def run():
    for t in range(T): p2g(t); g2p(t)
    measure()
""",
    "online softmax": """
T, D = 7, 3
q, k, v = V(D, T), V(D, T), V(D, T)
@ti.kernel
def attend():
    for i in q:
        m, z = -1e30, 0.0
        acc = ti.Vector.zero(f64, D)
        for j in range(T):
            s = q[i].dot(k[j])
            m_new = max(m, s)
            c = ti.exp(m - m_new)
            w = ti.exp(s - m_new)
            z = z * c + w
            acc = acc * c + w * v[j]
            m = m_new
        loss[None] += (acc / z).norm_sqr()
inputs = [q, k, v]
def run(): attend()
""",
    "dataclass ray": """
@ti.dataclass
class Ray:
    o: ti.types.vector(3, f64)
    d: ti.types.vector(3, f64)
    @ti.func
    def at(self, t): return self.o + t * self.d
@ti.dataclass
class Hit:
    t: f64
    n: ti.types.vector(3, f64)
    ok: ti.i32
N = 5
c, r = V(3, 2), F(2)
@ti.func
def hit_sphere(ray, k):
    h = Hit(t=1e9, n=ti.Vector([0.0, 0.0, 0.0]), ok=0)
    oc = ray.o - c[k]
    b = oc.dot(ray.d)
    disc = b * b - (oc.norm_sqr() - r[k] ** 2)
    if disc > 0:
        t = -b - ti.sqrt(disc)
        if t > 1e-3:
            h = Hit(t=t, n=(ray.at(t) - c[k]).normalized(), ok=1)
    return h
@ti.kernel
def trace():
    for i in range(N):
        ray = Ray(o=ti.Vector([0.0, 0.0, -5.0]), d=ti.Vector([0.05 * i, 0.03 * i, 1.0]).normalized())
        att = 1.0
        for bounce in range(4):
            best = Hit(t=1e9, n=ti.Vector([0.0, 0.0, 0.0]), ok=0)
            for k in range(2):
                h = hit_sphere(ray, k)
                if h.ok == 1 and h.t < best.t: best = h
            if best.ok == 0: break
            p = ray.at(best.t)
            att *= 0.5 + 0.3 * best.n.z
            ray = Ray(o=p, d=ray.d - 2 * ray.d.dot(best.n) * best.n)
        loss[None] += att * ray.o.norm() + ray.d.x
inputs = [c, r]
START = {0: np.array([[0.1, 0.05, 0.2], [0.6, 0.5, -3.0]]), 1: np.array([0.9, 0.5])}
STEP = 1e-6
run = trace
""",
    "cg solver": """
N = 5
A, b = F((N, N)), F(N)
@ti.kernel
def cg(iters: int):
    for _ in range(1):
        x = ti.Vector.zero(f64, N)
        r = ti.Vector.zero(f64, N)
        for i in ti.static(range(N)): r[i] = b[i]
        p = r
        rr = r.dot(r)
        for k in range(iters):
            Ap = ti.Vector.zero(f64, N)
            for i in ti.static(range(N)):
                for j in ti.static(range(N)):
                    Ap[i] += (A[i, j] + A[j, i] + (4.0 if ti.static(i == j) else 0.0)) * p[j]
            alpha = rr / p.dot(Ap)
            x += alpha * p
            r -= alpha * Ap
            new = r.dot(r)
            if new < 1e-22: break
            p = r + new / rr * p
            rr = new
        loss[None] += x.dot(x)
inputs = [A, b]
def run(): cg(3)
""",
    "volume render": """
S, R = 8, 4
density, color = F((S, S)), V(3, (S, S))
angle = F(R)
@ti.kernel
def march():
    for r in angle:
        T = 1.0
        c = ti.Vector([0.0, 0.0, 0.0])
        d = ti.Vector([ti.cos(angle[r]), ti.sin(angle[r])])
        p = ti.Vector([0.5, 0.5])
        while T > 0.01:
            p += 0.4 * d
            if not (0 <= p.x < S - 1 and 0 <= p.y < S - 1): break
            i = int(p)
            f = p - i
            s = 0.0
            rgb = ti.Vector([0.0, 0.0, 0.0])
            for a, b in ti.static(ti.ndrange(2, 2)):
                w = (f.x if ti.static(a == 1) else 1 - f.x) * (f.y if ti.static(b == 1) else 1 - f.y)
                s += w * density[i + ti.Vector([a, b])]
                rgb += w * color[i + ti.Vector([a, b])]
            alpha = 1 - ti.exp(-s * 0.4)
            c += T * alpha * rgb
            T *= 1 - alpha
        loss[None] += c.norm_sqr()
inputs = [density, color, angle]
STEP = 1e-6
run = march
""",
    "sparse grid": """
g = ti.field(f64); ggrad = None
block = ti.root.pointer(ti.ij, 4)
block.dense(ti.ij, 4).place(g)
ti.root.lazy_grad()
P = 5
x, w = V(2, P), F(P)
@ti.kernel
def scatter():
    for p in x:
        b = int(x[p] * 4)
        f = x[p] * 4 - b
        g[b] += (1 - f.x) * (1 - f.y) * w[p]
        g[b + ti.Vector([1, 0])] += f.x * (1 - f.y) * w[p]
        g[b + ti.Vector([0, 1])] += (1 - f.x) * f.y * w[p]
        g[b + 1] += f.x * f.y * w[p]
@ti.kernel
def measure():
    for i, j in g: loss[None] += g[i, j] ** 2 * (i + 1)
inputs = [x, w]
RANGE = (0.3, 2.7)
def reset(): ti.root.deactivate_all()
def run(): scatter(); measure()
""",
    "lbm like while relax": """
N = 5
f, omega, rho = F((3, N)), F(), F(N)
@ti.kernel
def relax(tol: f64):
    for i in range(N):
        a, b, c = f[0, i], f[1, i], f[2, i]
        r = a + b + c
        u = (c - a) / r
        k = 0
        while abs(c - a) > tol and k < 200:
            ea, eb, ec = r / 6 * (1 - 3 * u), r * 2 / 3, r / 6 * (1 + 3 * u)
            a += omega[None] * 0.5 * (ea - a)
            b += omega[None] * 0.5 * (eb - b)
            c += omega[None] * 0.5 * (ec - c)
            u = 0.9 * (c - a) / (a + b + c)
            k += 1
        rho[i] = a * 2 + b * b + c + k
    for i in range(N): loss[None] += rho[i]
inputs = [f, omega]
def run(): relax(1e-3)
""",
    "pendulum control": """
T = 30
u, theta, omega, cost = F(T), F(T + 1), F(T + 1), F()
@ti.kernel
def rollout():
    theta[0] = 0.3
    omega[0] = 0.0
    ti.loop_config(serialize=True)
    for t in range(T):
        acc = -9.8 * ti.sin(theta[t]) + ti.math.clamp(u[t], -1.0, 1.0) - 0.1 * omega[t] * abs(omega[t])
        omega[t + 1] = omega[t] + 0.05 * acc
        theta[t + 1] = theta[t] + 0.05 * omega[t + 1]
    loss[None] = (theta[T] - 1.0) ** 2
    for t in range(T): loss[None] += 0.01 * u[t] ** 2
inputs = [u]
run = rollout
""",
    "matrix exp quat": """
N = 3
w, p = V(3, N), V(3, N)
@ti.func
def rotate(q, v):
    t = 2 * ti.math.cross(q.xyz, v)
    return v + q.w * t + ti.math.cross(q.xyz, t)
@ti.kernel
def spin():
    for i in w:
        q = ti.math.vec4(0.0, 0.0, 0.0, 1.0)
        for k in range(10):
            h = w[i] * 0.05
            v = h * q.w + ti.math.cross(h, q.xyz)
            dq = ti.math.vec4(v.x, v.y, v.z, -h.dot(q.xyz))
            q = (q + dq).normalized()
        r = rotate(q, p[i])
        loss[None] += r.x * r.y + ti.atan2(r.z, r.x)
inputs = [w, p]
run = spin
""",
    "advect semi lagrange": """
N = 6
q, qn = F((N, N)), F((N, N)); vel = V(2, (N, N))
@ti.func
def sample(f: ti.template(), u, v):
    i, j = ti.math.clamp(int(u), 0, N - 1), ti.math.clamp(int(v), 0, N - 1)
    return f[i, j]
@ti.func
def bilerp(f: ti.template(), p):
    u, v = p - 0.5
    s, t = ti.floor(u), ti.floor(v)
    fu, fv = u - s, v - t
    a, b, c, d = sample(f, s, t), sample(f, s + 1, t), sample(f, s, t + 1), sample(f, s + 1, t + 1)
    return ti.math.mix(ti.math.mix(a, b, fu), ti.math.mix(c, d, fu), fv)
@ti.kernel
def advect(q: ti.template(), qn: ti.template()):
    for i, j in q:
        p = ti.Vector([i, j]) + 0.5
        mid = p - 0.5 * vel[i, j]
        v = ti.Vector([0.0, 0.0])
        v = ti.Vector([bilerp(q, mid), 0.3])
        qn[i, j] = bilerp(q, p - v)
@ti.kernel
def measure(q: ti.template()):
    for i, j in q: loss[None] += q[i, j] ** 2 * (i + 1)
inputs = [q, vel]
def run():
    advect(q, qn); advect(qn, q); advect(q, qn); measure(qn)
""",
    "rnn serial": """
T, H = 9, 3
W, U_, b, xs = F((H, H)), F(H), F(H), F(T)
h = F((T + 1, H))
@ti.kernel
def unroll():
    for _ in range(1):
        for t in range(T):
            for i in range(H):
                s = b[i] + U_[i] * xs[t]
                for j in range(H): s += W[i, j] * h[t, j]
                h[t + 1, i] = ti.tanh(s)
        for i in range(H): loss[None] += h[T, i] ** 2
inputs = [W, U_, b, xs]
def reset(): h.fill(0)
run = unroll
""",
    "lstm locals": """
T = 70
w = F(8); xs = F(T)
@ti.func
def sig(x): return 1 / (1 + ti.exp(-x))
@ti.kernel
def lstm(n: int):
    for k in range(2):
        c, h = 0.0, 0.1 * k
        for t in range(n):
            i = sig(w[0] * xs[t] + w[1] * h)
            f = sig(w[2] * xs[t] + w[3] * h)
            o = sig(w[4] * xs[t] + w[5] * h)
            g = ti.tanh(w[6] * xs[t] + w[7] * h)
            c = f * c + i * g
            h = o * ti.tanh(c)
        loss[None] += h * h + c
inputs = [w, xs]
def run(): lstm(T)
""",
    "struct in loop": """
S = ti.types.struct(p=f64, q=ti.types.vector(2, f64))
N = 3
x, y = F(N), V(2, N)
@ti.func
def advance(s, k):
    r = S(p=s.p + 0.1 * s.q.norm() * k, q=s.q * 0.9 + s.p * ti.Vector([0.1, -0.2]))
    if r.p > 1.4: r.p = 1.4 + 0.1 * (r.p - 1.4)
    return r
@ti.kernel
def go(n: int):
    for i in x:
        s = S(p=x[i], q=y[i])
        for k in range(n): s = advance(s, k * 0.1)
        loss[None] += s.p * s.q.x + s.q.y
inputs = [x, y]
def run(): go(12)
""",
    "layout soa": """
x = ti.Matrix.field(2, 3, f64, shape=5, layout=ti.Layout.SOA, needs_grad=True)
y = ti.Vector.field(3, f64, needs_grad=True)
ti.root.dense(ti.i, 2).dense(ti.i, 4).place(y, y.grad)
@ti.kernel
def go():
    for i in x:
        r = x[i] @ y[i]
        x[i][0, 1] += r.x
        loss[None] += r.norm() + x[i][0, 1] ** 2 + x[i].transpose()[2, 1]
inputs = [x, y]
run = go
""",
    "reduce then normalize": """
N = 6
x, s, m = F(N), F(), F()
@ti.kernel
def stats():
    for i in x: m[None] += x[i] / N
    for i in x: s[None] += (x[i] - m[None]) ** 2 / N
@ti.kernel
def norm():
    for i in x: loss[None] += ((x[i] - m[None]) / ti.sqrt(s[None] + 1e-3)) ** 3 * (i + 1)
inputs = [x]
def reset(): s.fill(0); m.fill(0)
def run(): stats(); norm()
""",
    "max pool atomic": """
N = 8
x, mx = F(N), F(2)
@ti.kernel
def pool():
    for i in x: ti.atomic_max(mx[i // 4], x[i] * x[i])
@ti.kernel
def use():
    for b in mx: loss[None] += mx[b] ** 2 * (b + 1)
inputs = [x]
def reset(): mx.fill(-1)
def run(): pool(); use()
""",
    "power iteration": """
N = 4
A = ti.Matrix.field(N, N, f64, (), needs_grad=True)
@ti.kernel
def eig(n: int):
    for _ in range(1):
        M = A[None] + A[None].transpose() + 2.0
        v = ti.Vector([1.0, 0.9, 0.8, 0.7])
        for k in range(n):
            v = M @ v
            v = v / v.norm()
        loss[None] += v.dot(M @ v)
inputs = [A]
def run(): eig(300)
""",
    "cholesky": """
N = 4
A, L, b, x = F((N, N)), F((N, N)), F(N), F(N)
@ti.kernel
def solve():
    for _ in range(1):
        M = ti.Matrix.zero(f64, N, N)
        for i, j in ti.static(ti.ndrange(N, N)): M[i, j] = A[i, j] + A[j, i] + (6.0 if ti.static(i == j) else 0.0)
        C = ti.Matrix.zero(f64, N, N)
        for i in range(N):
            for j in range(i + 1):
                s = M[i, j]
                for k in range(j): s -= C[i, k] * C[j, k]
                if i == j: C[i, i] = ti.sqrt(s)
                else: C[i, j] = s / C[j, j]
        z = ti.Vector.zero(f64, N)
        for i in range(N):
            s = b[i]
            for k in range(i): s -= C[i, k] * z[k]
            z[i] = s / C[i, i]
        loss[None] += z.norm_sqr() + ti.log(C[0, 0] * C[3, 3])
inputs = [A, b]
run = solve
""",
    "ndarray 2d conv": """
img, ker, out, l = (ti.ndarray(f64, s, needs_grad=True) for s in ((7, 6), (3, 3), (5, 4), 1))
loss = l
@ti.kernel
def conv(a: ti.types.ndarray(), k: ti.types.ndarray(), o: ti.types.ndarray()):
    for i, j in o:
        s = 0.0
        for p, q in ti.ndrange(k.shape[0], k.shape[1]): s += a[i + p, j + q] * k[p, q]
        o[i, j] = ti.max(s, 0.1 * s)
@ti.kernel
def meas(o: ti.types.ndarray(), l: ti.types.ndarray()):
    for I in ti.grouped(o): l[0] += o[I] ** 2
inputs = [img, ker]
def run(): conv(img, ker, out); meas(out, l)
""",
    "double while break": """
N = 4
x, y = F(N), F(N)
@ti.kernel
def go():
    for i in x:
        a, it = x[i], 0
        while True:
            it += 1
            b, j = y[i], 0
            while True:
                j += 1
                b = b * 0.7 + 0.1 * ti.sin(a * j)
                if b < 0.2 or j > 5 + i: break
                if ti.cos(b) > 0.99:
                    b += 0.05 * a
                    break
            if it == 3: continue
            a = a * 0.8 + b
            if it > 6 + i: break
        loss[None] += a * b if False else a * a
inputs = [x, y]
run = go
""",
    "ti func early returns": """
N = 6
x, y = F(N), F(N)
@ti.func
def huber(r, d):
    if abs(r) < d: return 0.5 * r * r
    elif r > 3: return r
    return d * (abs(r) - 0.5 * d)
@ti.func
def classify(v):
    for k in range(4):
        if v.norm() > 1.0 + 0.2 * k:
            v *= 0.9
            if v.x > 1.0: return v * 2.0
        else: return v + k
    return ti.Vector([0.0, v.y])
@ti.kernel
def go():
    for i in x: loss[None] += huber(3 * x[i] - y[i], 0.9) + classify(ti.Vector([x[i], y[i]])).x * y[i]
inputs = [x, y]
run = go
""",
    "bitmasked field": """
a = ti.field(f64); b = ti.field(f64)
ti.root.bitmasked(ti.i, 10).place(a); ti.root.pointer(ti.i, 5).bitmasked(ti.i, 2).place(b); ti.root.lazy_grad()
x = F(4)
@ti.kernel
def act():
    for i in x: a[2 * i] = x[i] ** 2
@ti.kernel
def go():
    for i in a: b[i] += a[i] * a[i] * i
@ti.kernel
def meas():
    for i in b: loss[None] += b[i] ** 2
inputs = [x]
def reset(): ti.root.deactivate_all()
def run(): act(); go(); meas()
""",
    "complex mandel distance": """
N = 4
c = V(2, N)
@ti.kernel
def de(n: int):
    for i in c:
        z, dz = ti.Vector([0.0, 0.0]), ti.Vector([0.0, 0.0])
        k = 0
        while z.norm() < 20 and k < n:
            dz = 2 * ti.Vector([z[0] * dz[0] - z[1] * dz[1], z[0] * dz[1] + z[1] * dz[0]]) + ti.Vector([1.0, 0.0])
            z = ti.Vector([z[0] ** 2 - z[1] ** 2, 2 * z[0] * z[1]]) + c[i]
            k += 1
        loss[None] += ti.log(z.norm()) * z.norm() / dz.norm()
inputs = [c]
def run(): de(30)
""",
}  # fmt: skip
