import taichi as ti
import taichi.math as tm
import numpy as np
ti.init(arch=ti.cpu, default_fp=ti.f64, random_seed=3)

@ti.kernel
def maths(a: tm.vec3, b: tm.vec3, k: ti.f64) -> tm.vec4:
    r = tm.reflect(a, tm.normalize(b)) + tm.refract(a, tm.normalize(b), 0.7)
    q = tm.mix(a, b, k) * tm.smoothstep(0.0, 1.0, k) + tm.step(0.5, a)
    f = tm.fract(a * 3.7) - tm.mod(b, 0.6) + tm.sign(b - a)
    z = tm.cmul(a.xy, b.zx) + tm.cinv(a.xy) + tm.cpow(b.xy, 2)
    return tm.vec4(r.sum(), q.dot(f), z)

@ti.kernel
def mats() -> ti.f64:
    A = ti.Matrix([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]])
    U, S, V = ti.svd(A)
    R, P = ti.polar_decompose(A)
    ev, evec = ti.sym_eig(A)
    x = ti.solve(A, ti.Vector([1.0, 2.0, 3.0]))
    err = (A @ x - ti.Vector([1.0, 2.0, 3.0])).norm()
    e2 = (U @ S @ V.transpose() - A).norm() + (R @ P - A).norm()
    s = 0.0
    for i in ti.static(range(3)):
        s += ev[i]
    return A.determinant() + A.trace() * 100 + s + A.inverse()[0, 0] + ti.round(1e6 * (err + e2))

@ti.kernel
def ints(x: ti.i32, y: ti.u32) -> ti.types.vector(8, ti.i32):
    return ti.Vector([x // 3, x % 3, x >> 1, ti.bit_shr(x, 28), 0, int(y >> 3), ~x, x ^ 255])

@ti.kernel
def texty(n: ti.template(), arr: ti.types.ndarray(dtype=ti.types.vector(2, ti.f32), ndim=2)) -> ti.f32:
    s = ti.cast(0.0, ti.f32)
    for I in ti.grouped(arr):
        arr[I] = ti.Vector([I.x, I.y]) * n
        s += ti.cast(arr[I][0] + arr[I][1] * 0.5, ti.f32)
    return s

@ti.kernel
def chain(a: ti.f32, b: ti.f32, c: ti.f32) -> ti.i32:
    r = 0
    if a < b < c:
        r += 1
    if not (a == b or b >= c) and c != 0:
        r += 2
    r += 4 if 0 <= a else 8
    assert r > 0, "never"
    return r

def rounded(v):
    return [round(float(e), 9) for e in v]
print(rounded(maths(tm.vec3(0.3, -0.5, 0.8), tm.vec3(1.0, 2.0, -0.5), 0.3)))
print(round(mats(), 9))
print(ints(-17, 4000000000).to_numpy().tolist())
arr = ti.Vector.ndarray(2, ti.f32, (3, 4))
print(texty(2, arr), texty(3, arr), arr.to_numpy()[2, 3].tolist(), arr[1, 2])
print(chain(1, 2, 3), chain(-1, -2, 0), chain(0, 0, 1))
m = ti.Matrix([[1, 2], [3, 4]], ti.i32)
v = ti.Vector([1.0, 2.0, 2.0])
print(m @ m, m.transpose(), m.trace(), v.norm(), v.normalized(), v.cross(ti.Vector([0.0, 1.0, 0.0])), v.max())
print(m.to_list() if hasattr(m, "to_list") else m, (m * 2 - 1), m / 2, m ** 2, -m, m == ti.Matrix([[1, 0], [3, 0]]))
