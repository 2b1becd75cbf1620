"""Ray marching through distances to shapes, which are structs: spheres and boxes that melt together over a floor."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import clamp, dot, mix, normalize, vec3

WIDTH, HEIGHT = 480, 320


@ti.dataclass
class Shape:
    centre: vec3
    size: vec3  # half edges of a box, or the radius of a sphere
    colour: vec3
    is_box: ti.u1

    @ti.func
    def distance(self, p):
        d = p - self.centre
        q = ti.abs(d) - self.size
        outside = ti.max(q, 0.0).norm() + ti.min(q.max(), 0.0) - 0.06
        return outside if self.is_box else d.norm() - self.size.x


@ti.dataclass
class Hit:
    distance: ti.f32
    colour: vec3


@ti.func
def nearest(shapes: ti.template(), p):
    hit = Hit(1e9, vec3(0.0))
    for k in range(shapes.shape[0]):
        d, blend = shapes[k].distance(p), 0.35
        h = clamp(0.5 + 0.5 * (hit.distance - d) / blend, 0.0, 1.0)
        hit = Hit(mix(hit.distance, d, h) - blend * h * (1 - h), mix(hit.colour, shapes[k].colour, h))
    tile = 0.75 + 0.25 * ((int(ti.floor(p.x)) + int(ti.floor(p.z))) & 1)
    if p.y < hit.distance:
        hit = Hit(p.y, vec3(0.8, 0.8, 0.75) * tile)
    return hit


@ti.func
def shadow(shapes: ti.template(), p, light):
    brightest, t = 1.0, 0.05
    for _ in range(40):
        d = nearest(shapes, p + t * light).distance
        brightest = ti.min(brightest, 9 * d / t)
        t += clamp(d, 0.03, 0.4)
        if brightest < 0.01 or t > 9:
            break
    return clamp(brightest, 0.0, 1.0)


@ti.kernel
def render(shapes: ti.template(), image: ti.types.ndarray(vec3, 2)):
    for i, j in image:
        eye, light = vec3(0.0, 2.0, -5.5), normalize(vec3(0.6, 0.9, -0.5))
        ray = normalize(vec3((i - WIDTH / 2) / HEIGHT, (j - HEIGHT / 2) / HEIGHT - 0.22, 1.0))
        t, hit = 0.0, Hit(0.0, vec3(0.0))
        for _ in range(120):
            hit = nearest(shapes, eye + t * ray)
            t += hit.distance
            if hit.distance < 1e-3 or t > 30:
                break
        sky = mix(vec3(0.9, 0.9, 0.95), vec3(0.35, 0.55, 0.9), clamp(ray.y * 2, 0.0, 1.0))
        image[i, j] = sky
        if t < 30:
            p, normal = eye + t * ray, vec3(0.0)
            for k in ti.static(range(3)):
                step = vec3(0.0)
                step[k] = 1e-3
                normal[k] = nearest(shapes, p + step).distance - nearest(shapes, p - step).distance
            normal = normalize(normal)
            diffuse = ti.max(dot(normal, light), 0.0) * shadow(shapes, p + 0.01 * normal, light)
            lit = hit.colour * (0.25 + 0.2 * normal.y + 0.85 * diffuse)
            image[i, j] = mix(lit, sky, 1 - ti.exp(-0.003 * t * t))


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    shapes = ti.field(Shape, shape=4)
    shapes[0] = Shape(vec3(-1.1, 0.9, 0.2), vec3(0.8), vec3(0.9, 0.3, 0.25), False)
    shapes[1] = Shape(vec3(0.1, 0.7, 0.0), vec3(0.6, 0.35, 0.5), vec3(0.25, 0.5, 0.9), True)
    shapes[2] = Shape(vec3(1.3, 0.8, 0.5), vec3(0.75), vec3(0.95, 0.75, 0.25), False)
    shapes[3] = Shape(vec3(0.2, 1.6, 0.3), vec3(0.4), vec3(0.4, 0.8, 0.45), False)
    image = ti.Vector.ndarray(3, ti.f32, (WIDTH, HEIGHT))
    render(shapes, image)
    return np.clip(image.to_numpy(), 0, 1) ** (1 / 1.6)


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "ray_marching.png")
