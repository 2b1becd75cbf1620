import numpy as np
import taichi as ti
import taichi.math as tm
from taichi import Vector
ti.init(arch=ti.cpu, default_ip=ti.i32, default_fp=ti.f32, debug=False, random_seed=1)
N = 24
@ti.dataclass
class Edge:
    a: ti.i32
    b: ti.i32
    rest: ti.f32
    lam: ti.f32
    @ti.func
    def other(self, k):
        return self.b if self.a == k else self.a
@ti.dataclass
class Sphere:
    center: tm.vec3
    radius: ti.f32
    @ti.func
    def push(self, p):
        d = p - self.center
        l = tm.length(d)
        return self.center + d * (self.radius / l) if l < self.radius else p
    def volume(self):
        return 4 / 3 * np.pi * self.radius ** 3
n_edges = 2 * N * (N - 1) + (N - 1) ** 2
edges = Edge.field(shape=n_edges)
x = ti.Vector.field(3, float, (N, N)); xo = ti.Vector.field(3, float, (N, N)); v = Vector.field(3, float, shape=(N, N))
ball = Sphere(center=tm.vec3(0.5, -0.2, 0.5), radius=0.3)
colors = ti.field(ti.i32, n_edges)
@ti.kernel
def init():
    for i, j in x:
        x[i, j] = [i / (N - 1), 0.2 + 0.01 * tm.sin(i * 0.5) , j / (N - 1)]
    for i, j in ti.ndrange(N, N - 1):
        e = i * (N - 1) + j
        edges[e] = Edge(a=i * N + j, b=i * N + j + 1, rest=1 / (N - 1))
    for i, j in ti.ndrange(N - 1, N):
        e = N * (N - 1) + i * N + j
        edges[e].a = i * N + j
        edges[e].b = (i + 1) * N + j
        edges[e].rest = 1 / (N - 1)
    for i, j in ti.ndrange(N - 1, N - 1):
        e = 2 * N * (N - 1) + i * (N - 1) + j
        edges[e] = Edge(i * N + j, (i + 1) * N + j + 1, tm.sqrt(2.0) / (N - 1), 0.0)
dx = ti.Vector.field(3, float, (N, N)); cnt = ti.field(float, (N, N))
@ti.func
def at(k): return ti.Vector([k // N, k % N])
@ti.kernel
def predict(dt: float, s: Sphere):
    for I in ti.grouped(x):
        v[I] += dt * tm.vec3(0, -9.8, 0)
        xo[I] = x[I]
        x[I] += dt * v[I]
        x[I] = s.push(x[I])
@ti.kernel
def project():
    for I in ti.grouped(dx):
        dx[I] = 0; cnt[I] = 0.0
    for e in edges:
        i, j = at(edges[e].a), at(edges[e].b)
        d = x[i] - x[j]
        l = d.norm()
        c = 0.5 * (l - edges[e].rest) * d / l
        ti.atomic_sub(dx[i], c); dx[j] += c
        cnt[i] += 1; cnt[j] += 1
    for i, j in x:
        if not ((i == 0 and j == 0) or (i == 0 and j == N - 1)):
            x[i, j] += dx[i, j] / ti.max(cnt[i, j], 1)
@ti.kernel
def finish(dt: float):
    for I in ti.grouped(x):
        v[I] = (x[I] - xo[I]) / dt * 0.99
init()
for f in range(40):
    predict(2e-3, ball)
    for _ in range(10): project()
    finish(2e-3)
y = x.to_numpy()
print('cloth %.4f %.4f %.4f %.4f' % (y[..., 1].min(), y[..., 1].mean(), y.std(), ball.volume()), edges[3].rest, edges.to_numpy()['a'].sum())
