"""The kernels of the iterative solvers of `ti.linalg`, on fields of any number of axes."""

from ...transpiler.lang.annotations import ndarray, template
from ...transpiler.lang.functions import atomic_add, grouped
from ..launch.kernel import kernel


@kernel
def dot(x: template(), y: template(), result: ndarray()):
    """Store the sum of the products of all elements."""
    result[0] = 0
    for i in grouped(x):
        atomic_add(result[0], x[i] * y[i])


@kernel
def add_scaled(x: template(), factor: ndarray(), y: template(), out: template()):
    """Store x + factor * y. `out` may be one of them."""
    for i in grouped(x):
        out[i] = x[i] + factor[0] * y[i]


@kernel
def copy(x: template(), out: template()):
    """Copy a field."""
    for i in grouped(x):
        out[i] = x[i]
