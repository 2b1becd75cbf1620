"""The kernels of `compile_tape`, in our own language."""

from ...transpiler.lang.annotations import template
from ...transpiler.lang.functions import grouped, zero
from ..launch.kernel import kernel


@kernel
def clear(x: template()):
    """Set all elements to 0."""
    for index in grouped(x):
        x[index] = zero(x[index])


@kernel
def seed(loss_grad: template()):
    """Set the gradient of a loss."""
    loss_grad[None] = 1.0
