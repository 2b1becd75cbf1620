"""A path tracer: spheres of matt, metal and glass, lit by the sky and a lamp; 256 paths for each pixel."""

from __future__ import annotations

import numpy as np

import shadesmith as ti
from shadesmith.math import dot, normalize, reflect, refract, vec3

WIDTH, HEIGHT, PATHS, BOUNCES = 400, 260, 256, 7
MATT, METAL, GLASS, LAMP = range(4)

Sphere = ti.types.struct(centre=vec3, radius=ti.f32, colour=vec3, kind=ti.i32)


@ti.func
def hit_sphere(sphere, origin, ray):
    """Return the distance to a sphere, 1e9 if the ray misses it."""
    to = origin - sphere.centre
    b = dot(to, ray)
    root = b * b - dot(to, to) + sphere.radius**2
    t = 1e9
    if root > 0:
        near, far = -b - ti.sqrt(root), -b + ti.sqrt(root)
        t = near if near > 1e-3 else (far if far > 1e-3 else 1e9)
    return t


@ti.func
def random_direction():
    z, angle = 2 * ti.random() - 1, 2 * ti.math.pi * ti.random()
    r = ti.sqrt(1 - z * z)
    return vec3(r * ti.cos(angle), r * ti.sin(angle), z)


@ti.func
def bounce(sphere, ray, normal):
    """Return the direction in which a path goes on."""
    direction = normalize(normal + random_direction() * 0.999)
    if sphere.kind == METAL:
        direction = normalize(reflect(ray, normal) + 0.05 * random_direction())
    elif sphere.kind == GLASS:
        inside = dot(ray, normal) > 0
        facing, ratio = -normal if inside else normal, 1.5 if inside else 1 / 1.5
        mirror = 0.04 + 0.96 * (1 - ti.abs(dot(ray, normal))) ** 5  # Schlick's approximation
        bent = refract(ray, facing, ratio)
        direction = reflect(ray, facing) if ti.random() < mirror or bent.norm() < 0.5 else normalize(bent)
    return direction


@ti.kernel
def render(spheres: ti.template(), image: ti.types.ndarray(vec3, 2)):
    for i, j in image:
        total = vec3(0.0)
        for _ in range(PATHS):
            origin, share = vec3(0.0, 1.3, -4.6), vec3(1.0)
            ray = normalize(
                vec3((i + ti.random() - WIDTH / 2) / HEIGHT, (j + ti.random() - HEIGHT / 2) / HEIGHT - 0.12, 1.1)
            )
            for _ in range(BOUNCES):
                nearest, which = 1e9, -1
                for k in range(spheres.shape[0]):
                    t = hit_sphere(spheres[k], origin, ray)
                    if t < nearest:
                        nearest, which = t, k
                if which < 0:
                    total += share * ti.math.mix(vec3(0.75), vec3(0.25, 0.4, 0.75), 0.5 + 0.5 * ray.y)
                    break
                sphere = spheres[which]
                if sphere.kind == LAMP:
                    total += share * sphere.colour
                    break
                share *= sphere.colour
                origin += nearest * ray
                ray = bounce(sphere, ray, (origin - sphere.centre) / sphere.radius)
        image[i, j] = total / PATHS


def picture() -> np.ndarray:
    """Return colours, shape (width, height, 3)."""
    scene = [
        ((0, -1000, 0), 1000, (0.75, 0.75, 0.7), MATT), ((-1.5, 0.7, 0.4), 0.7, (0.85, 0.25, 0.2), MATT),
        ((0, 0.8, 0.3), 0.8, (0.97, 0.97, 0.97), GLASS), ((1.6, 0.75, 0.7), 0.75, (0.9, 0.75, 0.4), METAL),
        ((0.4, 0.25, -1.1), 0.25, (0.25, 0.5, 0.85), MATT), ((-0.7, 0.22, -1.0), 0.22, (0.4, 0.8, 0.4), METAL),
        ((-1.5, 4.5, -1), 1.0, (9, 8, 7), LAMP),
    ]  # fmt: skip
    spheres = Sphere.field(shape=len(scene))
    for k, (centre, radius, colour, kind) in enumerate(scene):
        spheres[k] = Sphere(vec3(*centre), radius, vec3(*colour), kind)
    image = ti.Vector.ndarray(3, ti.f32, (WIDTH, HEIGHT))
    render(spheres, image)
    return np.clip(image.to_numpy(), 0, 1) ** (1 / 2.2)


if __name__ == "__main__":
    ti.init(arch=ti.gpu)
    ti.tools.imwrite(picture(), "path_tracer.png")
