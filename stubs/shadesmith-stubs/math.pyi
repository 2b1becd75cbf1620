from typing import Any, TypeAlias, TypeVar

from shadesmith import Matrix, Vector

_T = TypeVar("_T")

from shadesmith import abs as abs
from shadesmith import acos as acos
from shadesmith import acosh as acosh
from shadesmith import asin as asin
from shadesmith import asinh as asinh
from shadesmith import atan2 as atan2
from shadesmith import atanh as atanh
def cconj(z: Any) -> Vector:
    """Return the conjugate of the complex number `z`, a vector (real part, imaginary part)."""
def cdiv(z1: Any, z2: Any) -> Vector:
    """Return the quotient of two complex numbers, `z1 / z2`, each (real part, imaginary part)."""
from shadesmith import ceil as ceil
def cexp(z: Any) -> Vector:
    """Return e to the power of the complex number `z`, a vector (real part, imaginary part)."""
def cinv(z: Any) -> Vector:
    """Return one over the complex number `z`, a vector (real part, imaginary part)."""
def clamp(x: _T, xmin: Any, xmax: Any) -> _T:
    """Return `x` clamped to [xmin, xmax]."""
def clog(z: Any) -> Vector:
    """Return the principal logarithm of the complex number `z`, a vector (real part, imaginary part)."""
def clz(x: Any) -> Any:
    """Return the number of zero bits above the highest one of `x`; a Python `int`, also in a vector, counts as an i32."""
def cmul(z1: Any, z2: Any) -> Vector:
    """Return the product of two complex numbers `z1` and `z2`, each (real part, imaginary part)."""
from shadesmith import cos as cos
def cpow(z: Any, n: Any) -> Vector:
    """Return the complex number `z`, a vector (real part, imaginary part), to the real power `n`."""
def cross(x: _T, y: Any) -> _T:
    """Return the cross product of the vectors `x` and `y` of 3 elements (a scalar for 2)."""
def csqrt(z: Any) -> Vector:
    """Return the square root of the complex number `z` with an argument in (-pi/2, pi/2]."""
def degrees(x: _T) -> _T:
    """Return the angle `x`, given in [rad], in [degrees]."""
def determinant(m: Any) -> float:
    """Return the determinant of the square matrix `m`, up to 4x4."""
def distance(x: Any, y: Any) -> float:
    """Return the length of `x - y`."""
def dot(x: Any, y: Any) -> float:
    """Return the scalar product of the vectors `x` and `y`."""
e: float
from shadesmith import exp as exp
def eye(n: Any) -> Matrix:
    """Return the (n, n) identity; `n` is known at compile time."""
from shadesmith import floor as floor
def fract(x: _T) -> _T:
    """Return the part of `x` above its floor."""
inf: float
def inverse(mat: Any) -> Matrix:
    """Return the inverse of the square matrix `mat`, up to 4x4."""
def isinf(x: Any) -> Any:
    """Return whether `x` is plus or minus infinity."""
def isnan(x: Any) -> Any:
    """Return whether `x` is not a number."""
ivec2: TypeAlias = Vector
ivec3: TypeAlias = Vector
ivec4: TypeAlias = Vector
def length(x: Any) -> float:
    """Return the Euclidean length of the vector `x`."""
from shadesmith import log as log
def log2(x: _T) -> _T:
    """Return the logarithm of `x` to base 2."""
mat2: TypeAlias = Matrix
mat3: TypeAlias = Matrix
mat4: TypeAlias = Matrix
from shadesmith import max as max
from shadesmith import min as min
def mix(x: _T, y: Any, a: Any) -> _T:
    """Return the linear interpolation between `x` (`a` = 0) and `y` (`a` = 1)."""
def mod(x: _T, y: Any) -> _T:
    """Return `x - y * floor(x / y)`."""
nan: float
def normalize(v: _T) -> _T:
    """Return the vector of length 1 in the direction of `v`."""
pi: float
def popcnt(x: Any) -> Any:
    """Return the number of one bits of `x`; a Python `int`, also in a vector, counts as an i32."""
from shadesmith import pow as pow
def radians(x: _T) -> _T:
    """Return the angle `x`, given in [degrees], in [rad]."""
def reflect(x: _T, n: Any) -> _T:
    """Return `x` reflected on the plane with unit normal `n`."""
def refract(x: _T, n: Any, eta: Any) -> _T:
    """Return unit vector `x` refracted at unit normal `n` with ratio of indices `eta`; zero under total reflection."""
def rot_by_axis(axis: Any, ang: Any) -> Matrix:
    """Return the 4x4 matrix of a rotation about vector `axis` by `ang` [rad], clockwise (Taichi's convention)."""
def rot_yaw_pitch_roll(yaw: Any, pitch: Any, roll: Any) -> Matrix:
    """Return the 4x4 matrix Rz(-roll) Rx(-pitch) Ry(-yaw), angles in [rad] (Taichi's convention)."""
def rotation2d(ang: Any) -> Matrix:
    """Return the 2x2 matrix of a rotation by `ang` [rad], counter-clockwise."""
def rotation3d(ang_x: Any, ang_y: Any, ang_z: Any) -> Matrix:
    """Return `rot_yaw_pitch_roll(ang_z, ang_x, ang_y)`, which is what Taichi's function of this name computes."""
from shadesmith import round as round
def scale(sx: Any, sy: Any, sz: Any) -> Matrix:
    """Return the 4x4 matrix that scales points by (sx, sy, sz)."""
def sign(x: _T) -> _T:
    """Return the sign of `x`: -1.0, 0.0 or 1.0; a float for integers too, as in Taichi."""
from shadesmith import sin as sin
def smoothstep(edge0: Any, edge1: Any, x: Any) -> float:
    """Return Hermite interpolation from 0 where `x` is at most `edge0` to 1 where it is at least `edge1`."""
from shadesmith import sqrt as sqrt
def step(edge: Any, x: Any) -> float:
    """Return 0.0 where `x` is below `edge`, else 1.0."""
from shadesmith import tan as tan
from shadesmith import tanh as tanh
def translate(dx: Any, dy: Any, dz: Any) -> Matrix:
    """Return the 4x4 matrix that moves points by (dx, dy, dz)."""
uvec2: TypeAlias = Vector
uvec3: TypeAlias = Vector
uvec4: TypeAlias = Vector
def vdir(ang: Any) -> Vector:
    """Return the unit vector of 2 elements at the angle `ang` [rad]."""
vec2: TypeAlias = Vector
vec3: TypeAlias = Vector
vec4: TypeAlias = Vector
