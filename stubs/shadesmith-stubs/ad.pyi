from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.ad.forward_mode import FwdMode as FwdMode
from shadesmith.runtime.ad.clearing import SNodeGradType as SNodeGradType
from shadesmith.runtime.ad.tape import Tape as Tape
def clear_all_gradients(gradient_type: Any = ...) -> None:
    """Set the gradients of all fields to 0, or their duals. gradient_type: which of them."""
def grad_for(primal: Any) -> Any:
    """Register the decorated function as the gradient of `primal`, which `grad_replaced` decorates."""
def grad_replaced(func: Any) -> Any:
    """Make the gradient of function `func` the one that `grad_for` registers, not that of the kernels it launches."""
def gradcheck(kernel: Any, *args: Any, relative: Any = ..., absolute: Any = ...) -> Any:
    """Compare the gradient of a kernel for the arguments `args` with finite differences, element by element."""
def no_grad(func: Any) -> Any:
    """Make tapes ignore function `func` and the kernels that it launches."""
