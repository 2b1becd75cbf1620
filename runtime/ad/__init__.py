"""`ti.ad`: tapes, and gradients written by hand."""

from __future__ import annotations

from .checkpoints import checkpoint
from .clearing import SNodeGradType, clear_all_gradients
from .custom import grad_for, grad_replaced, no_grad
from .finite_differences import gradcheck
from .forward_mode import FwdMode
from .products import hessian_vector, jacobian
from .tape import Tape
from .torch_functions import torch_function

__all__ = [
    "FwdMode",
    "SNodeGradType",
    "Tape",
    "checkpoint",
    "clear_all_gradients",
    "gradcheck",
    "grad_for",
    "grad_replaced",
    "hessian_vector",
    "jacobian",
    "no_grad",
    "torch_function",
]
