"""Balls and a box on a floor by sphere tracing, with a soft shadow and one reflection."""

import shadesmith as ti

vec3 = ti.math.vec3

width = 640
height = 360
max_steps = 96
far = 40.0
epsilon = 1e-3
ambient = 0.15

pixels = ti.Vector.field(3, float, (width, height))


@ti.dataclass
class Ray:
    o: vec3
    d: vec3


@ti.dataclass
class Hit:
    t: float
    n: vec3
    color: vec3


@ti.func
def box(p, size):
    q = abs(p) - size
    return ti.max(q, 0.0).norm() + ti.min(ti.max(q.x, q.y, q.z), 0.0)


@ti.func
def sdf(p):
    d = p.y
    d = ti.min(d, (p - vec3(0.0, 1.0, 0.0)).norm() - 1.0)
    d = ti.min(d, (p - vec3(2.2, 0.6, 0.5)).norm() - 0.6)
    return ti.min(d, box(p - vec3(-2.0, 0.7, 0.4), vec3(0.7, 0.7, 0.7)))


@ti.func
def normal(p):
    d = sdf(p)
    n = vec3(0.0)
    for i in ti.static(range(3)):
        q = p
        q[i] += epsilon
        n[i] = sdf(q) - d
    return n.normalized()


@ti.func
def sky(d):
    return ti.math.mix(vec3(1.0, 0.9, 0.8), vec3(0.3, 0.5, 0.9), ti.max(d.y, 0.0))


@ti.func
def march(ray):
    hit = Hit(t=0.0, n=vec3(0.0), color=sky(ray.d))
    steps = 0
    d = 1.0
    while steps < max_steps and hit.t < far and d > epsilon:
        d = sdf(ray.o + ray.d * hit.t)
        hit.t += d
        steps += 1
    if hit.t < far:
        p = ray.o + ray.d * hit.t
        hit.n = normal(p)
        if p.y > 2 * epsilon:
            hit.color = vec3(0.9, 0.3, 0.2)
        elif (int(ti.floor(p.x)) + int(ti.floor(p.z))) % 2 == 0:
            hit.color = vec3(0.8)
        else:
            hit.color = vec3(0.3)
    return hit


@ti.func
def shadow(p, light):
    s = 1.0
    t = 0.05
    for _ in range(32):
        d = sdf(p + light * t)
        s = ti.min(s, 8.0 * d / t)
        t += ti.max(d, 0.02)
    return ti.math.clamp(s, 0.0, 1.0)


@ti.func
def shade(ray, hit, light):
    color = hit.color
    if hit.t < far:
        p = ray.o + ray.d * hit.t
        lit = ti.max(hit.n.dot(light), 0.0) * shadow(p, light)
        color = hit.color * (ambient + (1.0 - ambient) * lit)
    return color


@ti.kernel
def render(time: float):
    light = vec3(ti.sin(time), 1.5, ti.cos(time)).normalized()
    for i, j in pixels:
        u = (2.0 * i - width) / height
        v = (2.0 * j - height) / height
        ray = Ray(o=vec3(0.0, 2.0, -5.0), d=vec3(u, v - 0.3, 2.0).normalized())
        hit = march(ray)
        color = shade(ray, hit, light)
        if hit.t < far:
            d = ti.math.reflect(ray.d, hit.n)
            mirror = Ray(o=ray.o + ray.d * hit.t + hit.n * 0.01, d=d)
            color = ti.math.mix(color, shade(mirror, march(mirror), light), 0.25)
        pixels[i, j] = ti.sqrt(color)
