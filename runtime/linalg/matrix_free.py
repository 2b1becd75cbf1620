"""`MatrixFreeCG` and `MatrixFreeBICGSTAB`: solvers that know a matrix only by a kernel that multiplies by it.

Source: van der Vorst, "Bi-CGSTAB" (1992); Hestenes and Stiefel, "Methods of Conjugate Gradients" (1952).
"""

from __future__ import annotations

from math import sqrt
from typing import Any

from ...transpiler.errors import TaichiRuntimeError, TaichiTypeError
from ...transpiler.ir.types import f32, f64
from ..arrays.ndarray import ndarray
from ..fields.field import field
from ..session.tracebacks import hides_own_frames
from . import kernels


class LinearOperator:
    """A matrix that is known by a kernel: `matvec_kernel(x, Ax)` stores its product with x.

    Example:
        >>> @ti.kernel
        ... def product(x: ti.template(), Ax: ti.template()):
        ...     for i in x:
        ...         Ax[i] = 2.0 * x[i]
        >>> A = ti.linalg.LinearOperator(product)
        >>> x, b = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        >>> b.fill(6.0)
        >>> ti.linalg.MatrixFreeCG(A, b, x)
        True
        >>> x[0]
        3.0
    """

    def __init__(self, matvec_kernel: Any) -> None:
        self._matvec = matvec_kernel

    @hides_own_frames
    def matvec(self, x: Any, Ax: Any) -> None:  # noqa: N803 - Taichi's name
        """Store the product with x in Ax. Raises: TaichiRuntimeError for other shapes."""
        if x.shape != Ax.shape:
            raise TaichiRuntimeError(f"Dimension mismatch x.shape{x.shape} != Ax.shape{Ax.shape}.")
        self._matvec(x, Ax)


class _Fields:
    """Fields like `b`, and operations on them."""

    def __init__(self, b: Any, x: Any, solver: str) -> None:
        if b.dtype != x.dtype:
            raise TaichiTypeError(f"Dtype mismatch b.dtype({b.dtype}) != x.dtype({x.dtype}).")
        if b.dtype not in (f32, f64):
            raise TaichiTypeError(f"Not supported dtype: {b.dtype}", "solve in ti.f32 or ti.f64")
        if b.shape != x.shape:
            raise TaichiRuntimeError(f"Dimension mismatch b.shape{b.shape} != x.shape{x.shape}.")
        if not 1 <= len(b.shape) <= 3:
            raise TaichiRuntimeError(f"{solver} only support 1D, 2D, 3D inputs; your inputs is {len(b.shape)}-D.")
        self.dtype, self.shape = b.dtype, b.shape
        self.number = ndarray(b.dtype, 1)

    def make(self) -> Any:
        return field(self.dtype, self.shape)

    def dot(self, x: Any, y: Any) -> float:
        kernels.dot(x, y, self.number)
        return float(self.number[0])

    def add(self, x: Any, factor: float, y: Any, out: Any) -> None:
        self.number[0] = factor
        kernels.add_scaled(x, self.number, y, out)

    def residual(self, A: Any, b: Any, x: Any) -> Any:
        r = self.make()
        A.matvec(x, r)
        self.add(b, -1.0, r, r)
        return r


@hides_own_frames
def MatrixFreeCG(A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True) -> bool:  # noqa: N802, N803 - Taichi's names
    """Solve A x = b by conjugate gradients, from the values of field `x`; return whether the residual is below `tol`.

    A: symmetric and positive definite. b, x: fields of f32 or f64 with up to three axes.
    maxiter: largest number of iterations. quiet: False prints the residual of each iteration.

    Example:
        >>> @ti.kernel
        ... def product(x: ti.template(), Ax: ti.template()):
        ...     for i in x:
        ...         Ax[i] = 2.0 * x[i]
        >>> A = ti.linalg.LinearOperator(product)
        >>> x, b = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        >>> b.fill(6.0)
        >>> ti.linalg.MatrixFreeCG(A, b, x)
        True
        >>> x[0]
        3.0
    """
    fields = _Fields(b, x, "MatrixFreeCG")
    r = fields.residual(A, b, x)
    p, Ap = fields.make(), fields.make()  # noqa: N806
    kernels.copy(r, p)
    old = fields.dot(r, r)
    _tell(quiet, f">>> Initial residual = {old:e}")
    for count in range(maxiter):
        if sqrt(old) < tol:
            _tell(quiet, f">>> Conjugate Gradient method converged.\n>>> #iterations {count}")
            return True
        A.matvec(p, Ap)
        alpha = old / fields.dot(p, Ap)
        fields.add(x, alpha, p, x)
        fields.add(r, -alpha, Ap, r)
        new = fields.dot(r, r)
        fields.add(r, new / old, p, p)
        old = new
        _tell(quiet, f">>> Iter = {count + 1:4}, Residual = {sqrt(new):e}")
    return sqrt(old) < tol


@hides_own_frames
def MatrixFreeBICGSTAB(
    A: LinearOperator, b: Any, x: Any, tol: float = 1e-6, maxiter: int = 5000, quiet: bool = True
) -> bool:  # noqa: N802, N803, E501 - Taichi's names
    """Solve A x = b by BiCGSTAB, from the values of field `x`; return whether the residual is below `tol`.

    A: any matrix that is not singular. b, x: fields of f32 or f64 with up to three axes.
    maxiter: largest number of iterations. quiet: False prints the residual of each iteration.

    Example:
        >>> @ti.kernel
        ... def product(x: ti.template(), Ax: ti.template()):
        ...     for i in x:
        ...         Ax[i] = 2.0 * x[i]
        >>> A = ti.linalg.LinearOperator(product)
        >>> x, b = ti.field(ti.f32, 4), ti.field(ti.f32, 4)
        >>> b.fill(6.0)
        >>> ti.linalg.MatrixFreeBICGSTAB(A, b, x)
        True
        >>> x[0]
        3.0
    """
    fields = _Fields(b, x, "MatrixFreeBICGSTAB")
    r = fields.residual(A, b, x)
    start, p, Ap, As = (fields.make() for _ in range(4))  # noqa: N806
    kernels.copy(r, start)
    kernels.copy(r, p)
    rho = fields.dot(start, r)
    _tell(quiet, f">>> Initial residual = {rho:e}")
    for count in range(maxiter):
        residual = sqrt(fields.dot(r, r))
        if residual < tol:
            _tell(quiet, f">>> BiCGSTAB method converged.\n>>> #iterations {count}")
            return True
        A.matvec(p, Ap)
        alpha = rho / fields.dot(start, Ap)
        fields.add(r, -alpha, Ap, r)
        A.matvec(r, As)
        squared = fields.dot(As, As)
        omega = fields.dot(As, r) / squared if squared else 0.0
        fields.add(x, alpha, p, x)
        fields.add(x, omega, r, x)
        fields.add(r, -omega, As, r)
        new = fields.dot(start, r)
        fields.add(p, -omega, Ap, p)
        fields.add(r, new / rho * alpha / omega if rho and omega else 0.0, p, p)
        rho = new
        _tell(quiet, f">>> Iter = {count + 1:4}, Residual = {residual:e}")
    return sqrt(fields.dot(r, r)) < tol


def _tell(quiet: bool, text: str) -> None:
    if not quiet:
        print(text)
