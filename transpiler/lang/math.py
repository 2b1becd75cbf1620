"""`ti.math`: GLSL's vector types and functions, complex numbers, rotations, in kernels and in Python scope.

Functions that are one operation come from `operations`; the others are short `@pyfunc`s that the frontend inlines.
Source: the GLSL 4.60 specification, section 8, for the functions that carry GLSL's names.
"""

from __future__ import annotations

import math
from typing import Any

from . import operations
from .annotations import matrix, vector
from .decorators import pyfunc
from .functions import clz, isinf, isnan, popcnt, static
from .functions import sign as typed_sign
from .hooks import uint
from .matrix import Matrix
from .operations import *  # noqa: F403
from .operations import atan2, cast, cos, exp, floor, log, max, min, pow, sin, sqrt  # noqa: A004

__all__ = [
    "cconj", "cdiv", "cexp", "cinv", "clamp", "clog", "clz", "cmul", "cpow", "cross", "csqrt", "degrees",
    "determinant", "distance", "dot", "e", "eye", "fract", "inf", "inverse", "isinf", "isnan", "ivec2", "ivec3",
    "ivec4", "length", "log2", "mat2", "mat3", "mat4", "mix", "mod", "nan", "normalize", "pi", "popcnt", "radians",
    "reflect", "refract", "rot_by_axis", "rot_yaw_pitch_roll", "rotation2d", "rotation3d", "scale", "sign",
    "smoothstep", "step", "translate", "uvec2", "uvec3", "uvec4", "vdir", "vec2", "vec3", "vec4",
]  # fmt: skip
__all__ += operations.__all__

e = math.e
pi = math.pi
inf = math.inf
nan = math.nan
log_of_2 = math.log(2.0)

vec2, vec3, vec4 = (vector(n, float) for n in (2, 3, 4))
ivec2, ivec3, ivec4 = (vector(n, int) for n in (2, 3, 4))
uvec2, uvec3, uvec4 = (vector(n, uint) for n in (2, 3, 4))
mat2, mat3, mat4 = (matrix(n, n, float) for n in (2, 3, 4))


@pyfunc
def mix(x: Any, y: Any, a: Any) -> Any:
    """Return the linear interpolation between `x` (`a` = 0) and `y` (`a` = 1).

    Example:
        >>> ti.math.mix(0.0, 4.0, 0.25)
        1.0
    """
    return x * (1.0 - a) + y * a


@pyfunc
def clamp(x: Any, xmin: Any, xmax: Any) -> Any:
    """Return `x` clamped to [xmin, xmax].

    Example:
        >>> ti.math.clamp(7, 0, 5)
        5
    """
    return min(xmax, max(xmin, x))


@pyfunc
def step(edge: Any, x: Any) -> Any:
    """Return 0.0 where `x` is below `edge`, else 1.0.

    Example:
        >>> ti.math.step(1.0, 3.0)
        1.0
    """
    return cast(x >= edge, float)


@pyfunc
def sign(x: Any) -> Any:
    """Return the sign of `x`: -1.0, 0.0 or 1.0; a float for integers too, as in Taichi.

    Example:
        >>> ti.math.sign(-3)
        -1.0
    """
    return cast(typed_sign(x), float)


@pyfunc
def fract(x: Any) -> Any:
    """Return the part of `x` above its floor.

    Example:
        >>> ti.math.fract(2.25)
        0.25
    """
    return x - floor(x)


@pyfunc
def smoothstep(edge0: Any, edge1: Any, x: Any) -> Any:
    """Return Hermite interpolation from 0 where `x` is at most `edge0` to 1 where it is at least `edge1`.

    Example:
        >>> ti.math.smoothstep(0.0, 1.0, 0.5)
        0.5
    """
    t = clamp((x - edge0) / (edge1 - edge0), 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


@pyfunc
def mod(x: Any, y: Any) -> Any:
    """Return `x - y * floor(x / y)`.

    Example:
        >>> ti.math.mod(-1.0, 3.0)
        2.0
    """
    return x - y * floor(x / y)


@pyfunc
def degrees(x: Any) -> Any:
    """Return the angle `x`, given in [rad], in [degrees].

    Example:
        >>> ti.round(ti.math.degrees(ti.math.pi))
        180.0
    """
    return x * (180.0 / pi)


@pyfunc
def radians(x: Any) -> Any:
    """Return the angle `x`, given in [degrees], in [rad].

    Example:
        >>> ti.math.radians(0.0)
        0.0
    """
    return x * (pi / 180.0)


@pyfunc
def log2(x: Any) -> Any:
    """Return the logarithm of `x` to base 2.

    Example:
        >>> ti.math.log2(8.0)
        3.0
    """
    return log(x) / log_of_2


@pyfunc
def dot(x: Any, y: Any) -> Any:
    """Return the scalar product of the vectors `x` and `y`.

    Example:
        >>> ti.math.dot(ti.math.vec2(1, 2), ti.math.vec2(3, 4))
        11.0
    """
    return x.dot(y)


@pyfunc
def cross(x: Any, y: Any) -> Any:
    """Return the cross product of the vectors `x` and `y` of 3 elements (a scalar for 2).

    Example:
        >>> ti.math.cross(ti.math.vec3(1, 0, 0), ti.math.vec3(0, 1, 0))
        [0. 0. 1.]
    """
    return x.cross(y)


@pyfunc
def length(x: Any) -> Any:
    """Return the Euclidean length of the vector `x`.

    Example:
        >>> ti.math.length(ti.math.vec2(3, 4))
        5.0
    """
    return x.norm()


@pyfunc
def distance(x: Any, y: Any) -> Any:
    """Return the length of `x - y`.

    Example:
        >>> ti.math.distance(ti.math.vec2(0, 0), ti.math.vec2(3, 4))
        5.0
    """
    return (x - y).norm()


@pyfunc
def normalize(v: Any) -> Any:
    """Return the vector of length 1 in the direction of `v`.

    Example:
        >>> ti.math.normalize(ti.math.vec2(0, 4))
        [0. 1.]
    """
    return v.normalized()


@pyfunc
def reflect(x: Any, n: Any) -> Any:
    """Return `x` reflected on the plane with unit normal `n`.

    Example:
        >>> ti.math.reflect(ti.math.vec2(1, -1), ti.math.vec2(0, 1))
        [1. 1.]
    """
    k = x.dot(n)
    return x - 2.0 * k * n


@pyfunc
def refract(x: Any, n: Any, eta: Any) -> Any:
    """Return unit vector `x` refracted at unit normal `n` with ratio of indices `eta`; zero under total reflection.

    Example:
        >>> ti.math.refract(ti.math.vec2(0, -1), ti.math.vec2(0, 1), 1.0)
        [ 0. -1.]
    """
    cosine = x.dot(n)
    k = 1.0 - eta * eta * (1.0 - cosine * cosine)
    result = 0.0 * x
    if k >= 0.0:
        result = eta * x - (eta * cosine + sqrt(k)) * n
    return result


@pyfunc
def inverse(mat: Any) -> Any:
    """Return the inverse of the square matrix `mat`, up to 4x4.

    Example:
        >>> ti.math.inverse(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]))
        [[0.5  0.  ]
         [0.   0.25]]
    """
    return mat.inverse()


@pyfunc
def determinant(m: Any) -> Any:
    """Return the determinant of the square matrix `m`, up to 4x4.

    Example:
        >>> ti.math.determinant(ti.Matrix([[1.0, 0.5], [2.0, 4.0]]))
        2.9999999999999996
    """
    return m.determinant()


@pyfunc
def eye(n: Any) -> Any:
    """Return the (n, n) identity; `n` is known at compile time.

    Example:
        >>> ti.math.eye(2)
        [[1. 0.]
         [0. 1.]]
    """
    return Matrix([[1.0 if i == j else 0.0 for j in static(range(n))] for i in static(range(n))])


@pyfunc
def vdir(ang: Any) -> Any:
    """Return the unit vector of 2 elements at the angle `ang` [rad].

    Example:
        >>> ti.math.vdir(0.0)
        [1. 0.]
    """
    return vec2(cos(ang), sin(ang))


@pyfunc
def cmul(z1: Any, z2: Any) -> Any:
    """Return the product of two complex numbers `z1` and `z2`, each (real part, imaginary part).

    Example:
        >>> ti.math.cmul(ti.math.vec2(0, 1), ti.math.vec2(0, 1))
        [-1.  0.]
    """
    return vec2(z1.x * z2.x - z1.y * z2.y, z1.x * z2.y + z1.y * z2.x)


@pyfunc
def cconj(z: Any) -> Any:
    """Return the conjugate of the complex number `z`, a vector (real part, imaginary part).

    Example:
        >>> ti.math.cconj(ti.math.vec2(1, 2))
        [ 1. -2.]
    """
    return vec2(z.x, -z.y)


@pyfunc
def cdiv(z1: Any, z2: Any) -> Any:
    """Return the quotient of two complex numbers, `z1 / z2`, each (real part, imaginary part).

    Example:
        >>> ti.math.cdiv(ti.math.vec2(0, 2), ti.math.vec2(0, 1))
        [2. 0.]
    """
    return vec2(z1.x * z2.x + z1.y * z2.y, z1.y * z2.x - z1.x * z2.y) / z2.dot(z2)


@pyfunc
def cinv(z: Any) -> Any:
    """Return one over the complex number `z`, a vector (real part, imaginary part).

    Example:
        >>> ti.math.cinv(ti.math.vec2(0, 2))
        [ 0.  -0.5]
    """
    return cconj(z) / z.dot(z)


@pyfunc
def csqrt(z: Any) -> Any:
    """Return the square root of the complex number `z` with an argument in (-pi/2, pi/2].

    Example:
        >>> ti.math.csqrt(ti.math.vec2(4, 0))
        [2. 0.]
    """
    result = vec2(0.0)
    if z.x != 0.0 or z.y != 0.0:
        r = sqrt(z.norm())
        a = atan2(z.y, z.x)
        result = r * vec2(cos(a / 2.0), sin(a / 2.0))
    return result


@pyfunc
def cpow(z: Any, n: Any) -> Any:
    """Return the complex number `z`, a vector (real part, imaginary part), to the real power `n`.

    Example:
        >>> ti.math.cpow(ti.math.vec2(2, 0), 3.0)
        [8. 0.]
    """
    result = vec2(0.0)
    if z.x != 0.0 or z.y != 0.0:
        r2 = z.dot(z)
        a = atan2(z.y, z.x)
        result = pow(r2, n / 2.0) * vec2(cos(n * a), sin(n * a))
    return result


@pyfunc
def cexp(z: Any) -> Any:
    """Return e to the power of the complex number `z`, a vector (real part, imaginary part).

    Example:
        >>> ti.math.cexp(ti.math.vec2(0, 0))
        [1. 0.]
    """
    r = exp(z.x)
    return vec2(r * cos(z.y), r * sin(z.y))


@pyfunc
def clog(z: Any) -> Any:
    """Return the principal logarithm of the complex number `z`, a vector (real part, imaginary part).

    Example:
        >>> ti.math.clog(ti.math.vec2(1, 0))
        [0. 0.]
    """
    ang = atan2(z.y, z.x)
    r2 = z.dot(z)
    return vec2(log(r2) / 2.0, ang)


@pyfunc
def translate(dx: Any, dy: Any, dz: Any) -> Any:
    """Return the 4x4 matrix that moves points by (dx, dy, dz).

    Example:
        >>> ti.math.translate(1.0, 2.0, 3.0) @ ti.Vector([0.0, 0.0, 0.0, 1.0])
        [1. 2. 3. 1.]
    """
    return mat4([1.0, 0.0, 0.0, dx, 0.0, 1.0, 0.0, dy, 0.0, 0.0, 1.0, dz, 0.0, 0.0, 0.0, 1.0])


@pyfunc
def scale(sx: Any, sy: Any, sz: Any) -> Any:
    """Return the 4x4 matrix that scales points by (sx, sy, sz).

    Example:
        >>> ti.math.scale(2.0, 3.0, 4.0) @ ti.Vector([1.0, 1.0, 1.0, 1.0])
        [2. 3. 4. 1.]
    """
    return mat4([sx, 0.0, 0.0, 0.0, 0.0, sy, 0.0, 0.0, 0.0, 0.0, sz, 0.0, 0.0, 0.0, 0.0, 1.0])


@pyfunc
def rotation2d(ang: Any) -> Any:
    """Return the 2x2 matrix of a rotation by `ang` [rad], counter-clockwise.

    Example:
        >>> ti.math.rotation2d(0.0)
        [[ 1. -0.]
         [ 0.  1.]]
    """
    ca, sa = cos(ang), sin(ang)
    return mat2([ca, -sa, sa, ca])


@pyfunc
def rot_by_axis(axis: Any, ang: Any) -> Any:
    """Return the 4x4 matrix of a rotation about vector `axis` by `ang` [rad], clockwise (Taichi's convention).

    Source: Rodrigues' formula for the angle `-ang`.

    Example:
        >>> ti.math.rot_by_axis(ti.math.vec3(0, 0, 1), 0.0)
        [[1. 0. 0. 0.]
         [0. 1. 0. 0.]
         [0. 0. 1. 0.]
         [0. 0. 0. 1.]]
    """
    c, s = cos(ang), sin(ang)
    direction = axis.normalized()
    x, y, z = direction.x, direction.y, direction.z
    a, b, d = (1.0 - c) * x, (1.0 - c) * y, (1.0 - c) * z
    return Matrix(
        [
            [a * x + c, a * y + s * z, a * z - s * y, 0.0],
            [b * x - s * z, b * y + c, b * z + s * x, 0.0],
            [d * x + s * y, d * y - s * x, d * z + c, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@pyfunc
def rot_yaw_pitch_roll(yaw: Any, pitch: Any, roll: Any) -> Any:
    """Return the 4x4 matrix Rz(-roll) Rx(-pitch) Ry(-yaw), angles in [rad] (Taichi's convention).

    Example:
        >>> ti.math.rot_yaw_pitch_roll(0.0, 0.0, 0.0) @ ti.Vector([1.0, 2.0, 3.0, 1.0])
        [1. 2. 3. 1.]
    """
    cy, sy = cos(yaw), sin(yaw)
    cp, sp = cos(pitch), sin(pitch)
    cr, sr = cos(roll), sin(roll)
    return Matrix(
        [
            [cr * cy + sr * sp * sy, sr * cp, sr * sp * cy - cr * sy, 0.0],
            [cr * sp * sy - sr * cy, cr * cp, sr * sy + cr * sp * cy, 0.0],
            [cp * sy, -sp, cp * cy, 0.0],
            [0.0, 0.0, 0.0, 1.0],
        ]
    )


@pyfunc
def rotation3d(ang_x: Any, ang_y: Any, ang_z: Any) -> Any:
    """Return `rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`, which is what Taichi's function of this name computes.

    Example:
        >>> ti.math.rotation3d(0.0, 0.0, 0.0) @ ti.Vector([1.0, 2.0, 3.0, 1.0])
        [1. 2. 3. 1.]
    """
    return rot_yaw_pitch_roll(ang_z, ang_x, ang_y)
