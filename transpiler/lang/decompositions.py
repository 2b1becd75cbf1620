"""`ti.svd`, `ti.polar_decompose`, `ti.eig`, `ti.sym_eig` and `ti.solve` of small matrices, for kernels.

They are kernel functions that the frontend inlines. Iterations stay loops, so that a call has about two hundred
statements, not a thousand. Every algorithm first scales its matrix by a power of two, which is exact: no square
overflows, and the result of `2 * A` is that of `A`, scaled. No divisor can be zero, and no result depends on the order
of summation, so that `fast_math` changes the last digits only.

Results have the type `dt`; by default that of `A` if it is a floating-point type, else `default_fp`. f16 is computed in
f32. Conventions of order and sign are Taichi's, as measured; each function documents its own.
"""

from __future__ import annotations

from typing import Any, NoReturn

from ..errors import TaichiCompilationError, TaichiTypeError
from ..ir.types import Scalar, f16, f32, f64, i32, i64
from .annotations import template
from .decorators import func
from .functions import bit_cast, select, static
from .hooks import scalar_of
from .matrix import Matrix, Vector
from .operations import abs, cast, max, min, round, sqrt  # noqa: A004

__all__ = ["eig", "polar_decompose", "solve", "svd", "sym_eig"]

MAX_SWEEPS = 16
"""Jacobi's iterations converge quadratically: 3 to 7 sweeps suffice for matrices of 3 rows."""

BIG, SMALL = 2.0**64, 2.0**-64
"""Matrices outside this range are scaled in two steps, since 1 / x overflows for subnormal x."""

LEAST_F32, LEAST_NORMAL = 2.0**-149, 2.0**-126
LARGEST_BITS, LEAST_NORMAL_BITS = 0x7FFFFFFF, 0x00800000
"""Of f32: the least numbers, the bits of a number without its sign, and those of the least that is not subnormal."""

NEGLIGIBLE = {f32: 1e-15, f64: 1e-30}
"""Relative to the largest element of a matrix: the direction of a column as short as this is rounding noise."""

ORTHOGONAL = {f32: 2.5e-7, f64: 5e-16}
"""A cosine as small as this is rounding noise: the columns are orthogonal."""

DIAGONAL = {f32: 1e-8, f64: 1e-17}
"""Relative to the largest element of a matrix: a tenth of its rounding error."""

LEAST_PIVOT, LARGEST = 1e-37, 1e30
"""Relative to the largest element: the reciprocal of a lesser pivot overflows in f32; no unknown grows beyond."""


# --- at compile time ------------------------------------------------------------------------------------------------


def _refuse(message: str, hint: str) -> NoReturn:
    raise TaichiCompilationError(message, hint)


def _check_square(name: str, shape: tuple[int, ...], sizes: tuple[int, ...]) -> None:
    """Check the argument of `name`. Raises: TaichiCompilationError for an unsupported shape."""
    if len(shape) != 2 or shape[0] != shape[1] or shape[0] not in sizes:
        taken = " and ".join(f"{n}x{n}" for n in sizes)
        shown = "x".join(map(str, shape)) if len(shape) == 2 else f"a vector of {shape[0]} elements"
        _refuse(f"`ti.{name}` takes matrices of {taken}, found {shown}", "give it a square matrix of that size")


def _check_system(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Check the arguments of `solve`. Raises: TaichiCompilationError for shapes that do not match."""
    if len(a) != 2 or a[0] != a[1]:
        _refuse(f"`ti.solve` takes a square matrix, found shape {a}", "give it as many equations as unknowns")
    if b[0] != a[0]:
        _refuse(f"`ti.solve` takes {a[0]} right-hand sides for {a[0]} equations, found {b[0]}", "check the shapes")


def _result_type(dtype: Scalar, dt: Any) -> Scalar:
    """Return the type of the results. Raises: TaichiTypeError if `dt` is no floating-point type."""
    wanted = dtype if dt is None and dtype.is_float else scalar_of(float if dt is None else dt)
    if not wanted.is_float:
        raise TaichiTypeError(f"`dt` must be a floating-point type, found `{wanted}`")
    return wanted


def _working_type(wanted: Scalar) -> Scalar:
    """Return the type to compute in: f16 has too few digits."""
    return f32 if wanted == f16 else wanted


# --- pieces ---------------------------------------------------------------------------------------------------------


@func(inline=True)
def _power_of_two(x: Any) -> Any:
    """Return the power of two at or below `x` >= 0 and its reciprocal; 0.0 and 2^127 (f64: 2^1023) if there is none.

    By the bits of the exponent: drivers need not divide exactly.
    """
    if static(x.dtype == f64):
        exponent = bit_cast(x, i64) & i64(0x7FF0000000000000)
        return bit_cast(exponent, f64), bit_cast(i64(0x7FE0000000000000) - exponent, f64)
    exponent = bit_cast(x, i32) & 0x7F800000
    return bit_cast(exponent, f32), bit_cast(0x7F000000 - exponent, f32)


@func(inline=True)
def _largest(a: Any) -> Any:
    """Return the largest absolute value of the elements; no function on matrices is needed for it."""
    if static(len(a.shape) == 1):
        return max(*[abs(a[i]) for i in static(range(a.n))])
    return max(*[abs(a[i, j]) for i in static(range(a.n)) for j in static(range(a.m))])


@func
def _into_range(a: Any) -> Any:
    """Return `a` with its largest element brought into [1, 2) by a power of two, and that power in two factors.

    The factors come with their reciprocals, which bring the result back: (a, scale, shift, 1 / scale, 1 / shift).
    """
    largest = _largest(a)
    one = cast(1.0, a.dtype)
    unshift = select(largest > BIG, cast(BIG, a.dtype), select(largest < SMALL, cast(SMALL, a.dtype), one))
    _, shift = _power_of_two(unshift)
    result = shift * a
    if unshift < one:
        _raise(a, result)
    unscale, scale = _power_of_two(_largest(result))
    return scale * result, scale, shift, unscale, unshift


@func
def _raise(a: Any, result: template) -> None:
    """Correct `result`, `a` * `BIG`, in f32 by the bits of subnormal numbers, which a device may take as 0.

    Number by number, as `_back`: the emitted source then needs no operators on the bits of matrices.
    """
    if static(a.dtype == f32):
        for i in static(range(a.n)):
            if static(len(a.shape) == 1):
                result[i] = _raised_number(a[i], result[i])
            else:
                for j in static(range(a.m)):
                    result[i, j] = _raised_number(a[i, j], result[i, j])


@func
def _raised_number(x: Any, raised: Any) -> Any:
    bits = bit_cast(x, i32)
    size = bits & LARGEST_BITS
    steps = cast(select(bits < 0, -size, size), f32)
    return select(size < LEAST_NORMAL_BITS, steps * static(LEAST_F32 * BIG), raised)


@func
def _back(x: Any, unscale: Any, unshift: Any) -> Any:
    """Return `x` * `unscale` * `unshift`; in f32 by the bits of subnormal results, which devices may flush."""
    scaled = x * unscale
    result = scaled * unshift
    _lower(scaled, unshift, result)
    return result


@func
def _lower(scaled: Any, unshift: Any, result: template) -> None:
    """Correct `result`, `scaled` * `unshift`, as `_raise` does."""
    if static(scaled.dtype == f32):
        if unshift < 1.0:
            for i in static(range(scaled.n)):
                if static(len(scaled.shape) == 1):
                    result[i] = _lowered_number(scaled[i], result[i])
                else:
                    for j in static(range(scaled.m)):
                        result[i, j] = _lowered_number(scaled[i, j], result[i, j])


@func
def _lowered_number(x: Any, lowered: Any) -> Any:
    size = min(abs(x), static(LEAST_NORMAL * BIG))
    rounded = cast(round(size * static(SMALL / LEAST_F32)), i32) | (bit_cast(x, i32) & ~LARGEST_BITS)
    return select(abs(x) < static(LEAST_NORMAL * BIG), bit_cast(rounded, f32), lowered)


@func
def _rotation(alpha: Any, beta: Any, gamma: Any) -> Any:
    """Return tangent and cosine of the rotation that makes [[alpha, gamma], [gamma, beta]] diagonal; gamma is not 0.

    Source: Jacobi's method; the tangent as 2g / (d + sqrt(d^2 + 4g^2)), which has no quotient that overflows.
    """
    one = cast(1.0, alpha.dtype)
    d, g = beta - alpha, gamma + gamma
    slope = min(abs(g) / (abs(d) + sqrt(d * d + g * g)), one)
    return select((d < 0.0) == (g < 0.0), slope, -slope), one / sqrt(one + slope * slope)


@func
def _givens_rotation(x: template, y: template, t: Any, c: Any) -> None:
    """Rotate two columns by the angle with tangent `t` and cosine `c`."""
    x, y = c * (x - t * y), c * (y + t * x)


@func
def _direction(v: Any, otherwise: Any) -> Any:
    """Return `v` normalized, or `otherwise` if `v` is almost zero."""
    norm = v.norm()  # `length` would hide the function of that name in CUDA and GLSL
    return v / norm if norm > cast(static(NEGLIGIBLE[v.dtype]), v.dtype) else otherwise


@func
def _unit(n: template, k: template, dtype: template) -> Any:
    return Vector([1 if i == k else 0 for i in static(range(n))], dtype)


# --- singular values ------------------------------------------------------------------------------------------------


@func
def _orthogonalise(x: template, y: template, p: template, q: template) -> Any:
    """Make the columns `x` and `y` orthogonal by a rotation, also of `p` and `q`; return whether they were not."""
    alpha, beta, gamma = x.dot(x), y.dot(y), x.dot(y)
    is_turned = abs(gamma) > cast(static(ORTHOGONAL[x.dtype]), x.dtype) * sqrt(alpha) * sqrt(beta)
    if is_turned:
        t, c = _rotation(alpha, beta, gamma)
        _givens_rotation(x, y, t, c)
        _givens_rotation(p, q, t, c)
    return is_turned


@func
def _longer_first(x: template, y: template, p: template, q: template) -> None:
    """Order two columns by length, by a rotation of 90 degrees."""
    if x.dot(x) < y.dot(y):
        _quarter_rotation(x, y)
        _quarter_rotation(p, q)


@func
def _quarter_rotation(x: template, y: template) -> None:
    x, y = y, -x


@func
def _perpendicular(v: Any) -> Any:
    """Return a unit vector at right angles to a unit vector of 3 elements.

    Source: Duff et al., "Building an Orthonormal Basis, Revisited" (2017).
    """
    one = cast(1.0, v.dtype)
    sign = select(v.z < 0.0, -one, one)
    a = -v.x / (sign + v.z)
    return Vector([one + sign * v.x * a, sign * v.y * a, -sign * v.x])


@func
def _svd_2(a: Any) -> Any:
    """Both rotations as matrices, which take fewer lines than columns."""
    v = Matrix.cols([_unit(2, 0, a.dtype), _unit(2, 1, a.dtype)])
    p, q = a[:, 0], a[:, 1]
    alpha, beta, gamma = p.dot(p), q.dot(q), p.dot(q)
    if abs(gamma) > cast(static(ORTHOGONAL[a.dtype]), a.dtype) * sqrt(alpha) * sqrt(beta):
        t, c = _rotation(alpha, beta, gamma)
        v = c * Matrix([[1.0, t], [-t, 1.0]])
        a = a @ v  # noqa: PLW0642
    if a[:, 0].dot(a[:, 0]) < a[:, 1].dot(a[:, 1]):
        a, v = Matrix.cols([a[:, 1], -a[:, 0]]), Matrix.cols([v[:, 1], -v[:, 0]])
    x, y = a[:, 0], a[:, 1]
    first = _direction(x, _unit(2, 0, a.dtype))
    determinant = first.x * y.y - first.y * y.x
    second = select(determinant < 0.0, -first, first)
    return (
        Matrix([[first.x, -second.y], [first.y, second.x]]),
        Vector([x.norm(), abs(determinant)]),
        v,
    )


@func
def _svd_3(a: Any) -> Any:
    x, y, z = a[:, 0], a[:, 1], a[:, 2]
    p, q, r = _unit(3, 0, a.dtype), _unit(3, 1, a.dtype), _unit(3, 2, a.dtype)
    is_turning, sweep = True, 0
    while is_turning and sweep < MAX_SWEEPS:
        first = _orthogonalise(x, y, p, q)
        second = _orthogonalise(x, z, p, r)
        third = _orthogonalise(y, z, q, r)
        is_turning = first or second or third
        sweep += 1
    _longer_first(x, y, p, q)
    _longer_first(x, z, p, r)
    _longer_first(y, z, q, r)
    u = _direction(x, _unit(3, 0, a.dtype))
    v = _direction(y, _perpendicular(u))
    w = u.cross(v)
    return Matrix.cols([u, v, w]), Vector([x.norm(), y.norm(), w.dot(z)]), Matrix.cols([p, q, r])


@func
def svd(A: Any, dt: template = None) -> Any:  # type: ignore[assignment]
    """Return U, S, V with A = U S V^T: U and V orthogonal, S diagonal, the largest singular value first.

    2x2: the singular values are not negative, V is a rotation, and U has the sign of the determinant of A. 3x3: U and
    V are rotations, and the last singular value has the sign of the determinant of A.
    A: (2, 2) or (3, 3). dt: number type of the computation; None: the default float type.
    Source: Hestenes, "Inversion of Matrices by Biorthogonalization" (1958): Jacobi's rotations on the columns of A.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.f32:
        ...     U, S, V = ti.svd(ti.Matrix([[3.0, 0.0], [0.0, 2.0]]))
        ...     return S[0, 0]
        >>> example()
        3.0
    """
    a = Matrix(A)
    _check_square("svd", a.shape, (2, 3))
    wanted = static(_result_type(a.dtype, dt))
    b, _, _, unscale, unshift = _into_range(cast(a, static(_working_type(wanted))))
    u, values, v = static(_svd_2 if a.n == 2 else _svd_3)(b)
    scaled = values * unscale
    s = scaled * unshift
    _lower(scaled, unshift, s)
    n = static(a.n)
    zero = cast(0, wanted)
    diagonal = Matrix(
        [[cast(s[i], wanted) if static(i == j) else zero for j in static(range(n))] for i in static(range(n))]
    )
    U, S, V = cast(u, wanted), diagonal, cast(v, wanted)
    return U, S, V


@func
def polar_decompose(A: Any, dt: template = None) -> Any:  # type: ignore[assignment]
    """Return U, P with A = U P: U orthogonal, P symmetric.

    2x2: P has no negative eigenvalue, and U has the sign of the determinant of A. 3x3: U is a rotation, and the least
    eigenvalue of P has the sign of the determinant of A.
    A: (2, 2) or (3, 3). dt: number type of the computation; None: the default float type.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.f32:
        ...     U, P = ti.polar_decompose(ti.Matrix([[2.0, 0.0], [0.0, 3.0]]))
        ...     return P[1, 1]
        >>> example()
        3.0
    """
    a = Matrix(A)
    _check_square("polar_decompose", a.shape, (2, 3))
    wanted = static(_result_type(a.dtype, dt))
    b, _, _, unscale, unshift = _into_range(cast(a, static(_working_type(wanted))))
    u, values, v = static(_svd_2 if a.n == 2 else _svd_3)(b)
    stretch = values[0] * v[:, 0].outer_product(v[:, 0])
    for k in static(range(1, a.n)):
        stretch += values[k] * v[:, k].outer_product(v[:, k])
    stretch = cast(0.5, b.dtype) * (stretch + stretch.transpose())
    U, P = cast(u @ v.transpose(), wanted), cast(_back(stretch, unscale, unshift), wanted)
    return U, P


# --- eigenvalues ----------------------------------------------------------------------------------------------------


@func
def _sym_eig_2(a: Any) -> Any:
    x, y = a[0, 0], a[1, 1]
    p, q = _unit(2, 0, a.dtype), _unit(2, 1, a.dtype)
    if abs(a[0, 1]) > cast(static(DIAGONAL[a.dtype]), a.dtype):
        t, c = _rotation(x, y, a[0, 1])
        x, y = x - t * a[0, 1], y + t * a[0, 1]
        _givens_rotation(p, q, t, c)
    if x < y:
        x, y = y, x
        _quarter_rotation(p, q)
    return Vector([x, y]), Matrix.cols([p, q])


@func
def _diagonalise(x: template, y: template, xy: template, xz: template, yz: template, p: template, q: template) -> Any:
    """Make `xy` of [[x, xy, xz], [xy, y, yz], [xz, yz, z]] zero by a rotation; return whether it was not zero."""
    is_turned = abs(xy) > cast(static(DIAGONAL[x.dtype]), x.dtype)
    if is_turned:
        t, c = _rotation(x, y, xy)
        x, y, xy = x - t * xy, y + t * xy, 0.0
        _givens_rotation(xz, yz, t, c)
        _givens_rotation(p, q, t, c)
    return is_turned


@func
def _lesser_first(x: template, y: template, p: template, q: template) -> None:
    """Order two eigenvalues and their vectors, by a rotation of 90 degrees."""
    if x > y:
        x, y = y, x
        _quarter_rotation(p, q)


@func
def _sym_eig_3(a: Any) -> Any:
    x, y, z = a[0, 0], a[1, 1], a[2, 2]
    xy, xz, yz = a[0, 1], a[0, 2], a[1, 2]
    p, q, r = _unit(3, 0, a.dtype), _unit(3, 1, a.dtype), _unit(3, 2, a.dtype)
    is_turning, sweep = True, 0
    while is_turning and sweep < MAX_SWEEPS:
        first = _diagonalise(x, y, xy, xz, yz, p, q)
        second = _diagonalise(x, z, xz, xy, yz, p, r)
        third = _diagonalise(y, z, yz, xy, xz, q, r)
        is_turning = first or second or third
        sweep += 1
    _lesser_first(x, y, p, q)
    _lesser_first(x, z, p, r)
    _lesser_first(y, z, q, r)
    return Vector([x, y, z]), Matrix.cols([p, q, r])


@func
def sym_eig(A: Any, dt: template = None) -> Any:  # type: ignore[assignment]
    """Return the eigenvalues of a symmetric matrix, and its eigenvectors as the columns of a rotation.

    2x2: the larger eigenvalue first. 3x3: the least first. Only the diagonal of A and the elements above it are read.
    A: (2, 2) or (3, 3). dt: number type of the computation; None: the default float type.
    Source: Jacobi, "Ueber ein leichtes Verfahren ..." (1846): cyclic rotations.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.math.vec2:
        ...     values, vectors = ti.sym_eig(ti.Matrix([[2.0, 0.0], [0.0, 1.0]]))
        ...     return values
        >>> example()
        [2. 1.]
    """
    a = Matrix(A)
    _check_square("sym_eig", a.shape, (2, 3))
    wanted = static(_result_type(a.dtype, dt))
    b, _, _, unscale, unshift = _into_range(cast(a, static(_working_type(wanted))))
    values, vectors = static(_sym_eig_2 if a.n == 2 else _sym_eig_3)(b)
    eigenvalues, eigenvectors = cast(_back(values, unscale, unshift), wanted), cast(vectors, wanted)
    return eigenvalues, eigenvectors


@func
def _eigenvector(x: Any, y: Any, otherwise: Any, sign: Any) -> Any:
    """Return (x, y) normalized, its second element with the sign of `sign`; `otherwise` if it is zero."""
    largest = max(abs(x), abs(y))
    result = otherwise
    if largest > cast(static(NEGLIGIBLE[x.dtype]), x.dtype):
        v = Vector([x, y]) / largest
        result = v / v.norm()
        if (result.y < 0.0) != (sign < 0.0):
            result = -result
    return result


@func
def _real_eigenvectors(p: Any, r: Any, b: Any, c: Any) -> Any:
    """Return the null vectors of [[p - r, b], [c, -p - r]] and [[p + r, b], [c, r - p]]; r >= 0, p*p + b*c = r*r.

    Each is computed from the row without cancellation.
    """
    u, v = Vector([r + p, c]), Vector([b, -r - p])
    i, j = _unit(2, 0, p.dtype), _unit(2, 1, p.dtype)
    if p < 0.0:
        u, v = Vector([b, r - p]), Vector([r - p, -c])
        i, j = j, i
    return _eigenvector(u.x, u.y, i, c), _eigenvector(v.x, v.y, j, c)


@func
def eig(A: Any, dt: template = None) -> Any:  # type: ignore[assignment]
    """Return eigenvalues and eigenvectors of a real 2x2 matrix, as complex numbers.

    Eigenvalues: a (2, 2) matrix, each row one eigenvalue (real part, imaginary part); the larger one first, of a pair
    that with the positive imaginary part. Eigenvectors: a (4, 2) matrix, each column one of length 1, as real and
    imaginary part of its first element, then of its second. A defective matrix gives its one eigenvector twice.
    dt: number type of the computation; None: the default float type.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.f32:
        ...     values, vectors = ti.eig(ti.Matrix([[2.0, 0.0], [0.0, 1.0]]))
        ...     return values[0, 0]
        >>> example()
        2.0
    """
    a = Matrix(A)
    _check_square("eig", a.shape, (2,))
    wanted = static(_result_type(a.dtype, dt))
    m, _, _, unscale, unshift = _into_range(cast(a, static(_working_type(wanted))))
    half = cast(0.5, m.dtype)
    zero = cast(0, m.dtype)
    mean, p, b, c = half * (m[0, 0] + m[1, 1]), half * (m[0, 0] - m[1, 1]), m[0, 1], m[1, 0]
    square = p * p + b * c
    r = sqrt(abs(square))
    values = Matrix([[mean + r, zero], [mean - r, zero]])
    u, v = _real_eigenvectors(p, r, b, c)
    vectors = Matrix([[u.x, v.x], [zero, zero], [u.y, v.y], [zero, zero]])
    if square < -LEAST_PIVOT:
        values = Matrix([[mean, r], [mean, -r]])
        length = sqrt(p * p + r * r + c * c)
        vectors = Matrix([[p, p], [r, -r], [c, c], [zero, zero]]) / length
    eigenvalues, eigenvectors = cast(_back(values, unscale, unshift), wanted), cast(vectors, wanted)
    return eigenvalues, eigenvectors


# --- linear systems -------------------------------------------------------------------------------------------------


@func
def solve(A: Any, b: Any, dt: template = None) -> Any:  # type: ignore[assignment]
    """Return x with A x = b, for a vector b or, column by column, a matrix b.

    A singular A gives finite numbers, which need not satisfy the equations.
    A: (2, 2) or (3, 3). dt: number type of the computation; None: the default float type.
    Source: Gauss's elimination, with the largest element of each column as the pivot.

    Example:
        >>> @ti.kernel
        ... def example() -> ti.math.vec2:
        ...     return ti.solve(ti.Matrix([[2.0, 0.0], [0.0, 4.0]]), ti.Vector([2.0, 2.0]))
        >>> example()
        [1.  0.5]
    """
    a, right = Matrix(A), Matrix(b)
    _check_system(a.shape, right.shape)
    wanted = static(_result_type(a.dtype, dt))
    m, scale, shift, _, _ = _into_range(cast(a, static(_working_type(wanted))))
    y, _, _, unscale, unshift = _into_range(cast(right, static(_working_type(wanted))))
    x = _eliminate(m, y)
    return cast(select(x == 0.0, x, x * unscale * scale * unshift * shift), wanted)


@func
def _eliminate(a: Any, b: Any) -> Any:
    """Return x with a x = b, its elements at most `LARGEST`; no element of `a` and `b` is above 2."""
    n = static(a.n)
    rows = [a[i, :] for i in static(range(n))]
    right = [b[i, :] if static(len(b.shape) == 2) else b[i] for i in static(range(n))]
    pivots = []
    for k in static(range(n)):
        for i in static(range(k + 1, n)):
            if abs(rows[i][k]) > abs(rows[k][k]):
                rows[i], rows[k] = rows[k], rows[i]
                right[i], right[k] = right[k], right[i]
        reciprocal = cast(0, a.dtype)
        if abs(rows[k][k]) > LEAST_PIVOT:
            reciprocal = cast(1.0, a.dtype) / rows[k][k]
        pivots.append(reciprocal)
        for i in static(range(k + 1, n)):
            factor = rows[i][k] * reciprocal
            rows[i] = rows[i] - factor * rows[k]
            right[i] = right[i] - factor * right[k]
    for k in static(range(n - 1, -1, -1)):
        for j in static(range(k + 1, n)):
            right[k] = right[k] - rows[k][j] * right[j]
        right[k] = max(min(right[k] * pivots[k], LARGEST), -LARGEST)
    return Matrix(right)
