import shadesmith as ti
from shadesmith.math import vec2


@ti.real_func
def distance(a: vec2, b: vec2) -> ti.f32:
    return (a - b).norm()


@ti.real_func
def nearest(points: ti.types.ndarray(dtype=vec2, ndim=1), p: vec2, visited: ti.ref(ti.i32)) -> (ti.i32, ti.f32):
    best = -1
    least = 1e9
    for k in range(points.shape[0]):
        d = distance(points[k], p)
        if d < 1e-6:
            return k, d
        if d < least:
            best, least = k, d
        visited += 1
    return best, least


def search(points: ti.types.ndarray(dtype=vec2, ndim=1), found: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in found:
        visited = 0
        k, d = nearest(points, vec2(i, 0), visited)
        found[i] = k if d < 2 else -visited


kernel, arguments = search, ((vec2.tensor, 1), (ti.i32, 1))
