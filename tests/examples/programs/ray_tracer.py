import taichi as ti, numpy as np
from taichi.math import vec3, vec4, vec2, normalize, dot, cross, reflect, mix, clamp
ti.init(arch=ti.cpu)
Ray = ti.types.struct(o=vec3, d=vec3)
Hit = ti.types.struct(t=ti.f32, n=vec3, mat=ti.i32, ok=ti.i32)
W, H = 96, 64
img = ti.Vector.field(3, ti.f32, (W, H))
n = 5
spheres = ti.Struct.field({'c': vec3, 'r': ti.f32, 'mat': ti.i32}, shape=(n,))
albedo = ti.Vector.field(3, float, shape=4)
EPS = 1e-4
@ti.func
def hit_sphere(s: ti.template(), r):
    h = Hit(t=1e9, ok=0)
    oc = r.o - s.c
    b = dot(oc, r.d); c = oc.dot(oc) - s.r ** 2
    disc = b * b - c
    if disc > 0:
        t = -b - ti.sqrt(disc)
        if t > EPS:
            p = r.o + t * r.d
            h = Hit(t=t, n=(p - s.c) / s.r, mat=s.mat, ok=1)
    return h
@ti.func
def trace(r):
    best = Hit(1e9, vec3(0), 0, 0)
    for k in range(n):
        h = hit_sphere(spheres[k], r)
        if h.ok and h.t < best.t: best = h
    if r.d.y < 0:
        t = -r.o.y / r.d.y
        if EPS < t < best.t:
            best = Hit(t=t, n=vec3(0, 1, 0), mat=3, ok=1)
    return best
@ti.func
def sky(d): return mix(vec3(1.0), vec3(0.5, 0.7, 1), 0.5 * (d.y + 1))
@ti.kernel
def render(time: ti.f32, cam: vec3):
    for u, v in img:
        uv = (vec2(u, v) + 0.5) / vec2(W, H) * 2 - 1
        uv.x *= W / H
        ray = Ray(o=cam, d=normalize(vec3(uv, -1.5)))
        col, thr = vec3(0), vec3(1)
        for bounce in range(4):
            h = trace(ray)
            if not h.ok:
                col += thr * sky(ray.d)
                break
            p = ray.o + h.t * ray.d
            a = albedo[h.mat]
            if h.mat == 3:
                a *= 0.5 + 0.5 * ((int(ti.floor(p.x)) + int(ti.floor(p.z))) & 1)
            l = normalize(vec3(ti.sin(time), 2, 1))
            sh = trace(Ray(o=p + h.n * 1e-3, d=l))
            diff = max(0.0, h.n @ l) * (1 - sh.ok)
            col += thr * a * diff * 0.7
            thr *= a * 0.4
            ray.o, ray.d = p + h.n * 1e-3, reflect(ray.d, h.n)
        img[u, v] = clamp(col, 0, 1) ** (1 / 2.2)
for i in range(n):
    spheres[i] = {'c': [i * 0.9 - 1.8, 0.4 + 0.1 * i, -2.0 - 0.3 * (i % 2)], 'r': 0.4, 'mat': i % 3}
albedo.from_numpy(np.array([[.9, .2, .2], [.2, .9, .3], [.3, .3, .9], [.8, .8, .8]], np.float32))
render(0.5, vec3(0, 0.8, 2))
a = img.to_numpy(); print('rt %.4f %.4f' % (a.mean(), a.std()), np.round(a[40, 30], 3).tolist())
ti.tools.imwrite(img, 'ray_tracer.png'); print(ti.tools.imread('ray_tracer.png').shape)
