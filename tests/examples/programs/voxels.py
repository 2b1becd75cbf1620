import taichi as ti, numpy as np
from taichi.math import *
ti.init(arch=ti.cpu)
G = 32
vox = ti.Vector.field(4, ti.u8)
root = ti.root.pointer(ti.ijk, G // 8); root.dense(ti.ijk, 8).place(vox, offset=(-G // 2, -G // 2, -G // 2))
@ti.kernel
def build():
    for i, j, k in ti.ndrange((-16, 16), (-16, 16), (-16, 16)):
        p = vec3(i, j, k)
        if p.norm() < 10 or (j < -12 and (i ^ k) & 3 == 0):
            vox[i, j, k] = ti.Vector([i * 8 + 128, j * 8 + 128, k * 8 + 128, 255]).cast(ti.u8)
img = ti.Vector.field(3, float, (48, 48)); steps = ti.field(int, (48, 48))
@ti.func
def inside(p: ivec3) -> bool:
    return -16 <= p.x < 16 and -16 <= p.y < 16 and -16 <= p.z < 16
@ti.func
def dda(o, d):
    p = ivec3(floor(o)); inv = 1.0 / d
    st = ivec3(sign(d))
    tmax = (vec3(p) + max(vec3(st), 0.0) - o) * inv
    hit = vec4(0); n = 0
    while inside(p) and hit.w == 0 and n < 200:
        c = vox[int(p.x), int(p.y), int(p.z)]
        if c.w > 0: hit = c / 255
        m = ivec3(0)
        if tmax.x <= min(tmax.y, tmax.z): m.x = 1
        elif tmax.y <= tmax.z: m.y = 1
        else: m.z = 1
        p += m * st; tmax += m * abs(inv); n += 1
    return hit, n
@ti.kernel
def render():
    for u, v in img:
        d = normalize(vec3(u - 23.7, v - 23.7, -60.3))
        o = vec3(0.3, 0.2, 15.9)
        c, n = dda(o, d)
        img[u, v] = c.rgb; steps[u, v] = n
@ti.kernel
def active() -> int:
    s = 0
    for I in ti.grouped(vox): s += 1
    return s
build(); render(); a = img.to_numpy()
print('voxel %.4f' % a.mean(), steps.to_numpy().sum(), active(), a[24, 24].round(3).tolist())
gui = ti.GUI('v', res=(48, 48), show_gui=False); gui.set_image(img); gui.show('v.png')
