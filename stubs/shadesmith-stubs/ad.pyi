from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.ad.forward_mode import FwdMode as FwdMode
from shadesmith.runtime.ad.clearing import SNodeGradType as SNodeGradType
from shadesmith.runtime.ad.tape import Tape as Tape
def checkpoint(steps: Any, memory: Any) -> Any:
    """Return `range(steps)` for a loop on a tape that keeps at most `memory` states of its arrays at a time."""
def clear_all_gradients(gradient_type: Any = ...) -> None:
    """Set the gradients of all fields to 0, or their duals. gradient_type: which of them."""
def grad_for(primal: Any) -> Any:
    """Register the decorated function as the gradient of `primal`, which `grad_replaced` decorates."""
def grad_replaced(func: Any) -> Any:
    """Make the gradient of function `func` the one that `grad_for` registers, not that of the kernels it launches."""
def gradcheck(kernel: Any, *args: Any, relative: Any = ..., absolute: Any = ...) -> Any:
    """Compare the gradient of a kernel for the arguments `args` with finite differences, element by element."""
def hessian_vector(function: Any, loss: Any, param: Any, direction: Any) -> Any:
    """Return the product of the Hessian of `loss` by `param` and a direction, in the shape of `param`."""
def jacobian(function: Any, output: Any, input: Any) -> Any:
    """Return how each number of `output` changes with each of `input`, shape (*output, *input)."""
def no_grad(func: Any) -> Any:
    """Make tapes ignore function `func` and the kernels that it launches."""
def torch_function(**outputs: Any) -> Any:
    """Return a decorator that makes a kernel a function of torch."""
