"""`ti.ad.torch_function`: a kernel as a function of torch, through which torch differentiates.

    @ti.ad.torch_function(y=lambda x, w: x.new_empty(x.shape[0]))
    @ti.kernel
    def layer(x: ti.types.ndarray(), w: ti.types.ndarray(), y: ti.types.ndarray()):
        for i in y:
            for j in range(w.shape[0]):
                y[i] += x[i, j] * w[j]

    y = layer(x, w)          # a new tensor; y.sum().backward() fills x.grad and w.grad

The keywords name the parameters that the kernel writes; the function of each makes its tensor from the other arguments.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ..arrays.foreign import is_tensor
from ..launch.kernel import Kernel
from ..session.tracebacks import hides_own_frames

Make = Callable[..., Any]


@hides_own_frames
def torch_function(**outputs: Make) -> Callable[[Kernel], Callable[..., Any]]:
    """Return a decorator that makes a kernel a function of torch.

    outputs: by the name of each parameter that the kernel writes, a function that takes the other arguments and returns
    a tensor, which is set to 0. Results are these tensors, in the order of the parameters. The kernel must not write
    its other parameters. Gradients go to the tensors that require them, and to fields that have gradients.
    Raises: TaichiRuntimeError without outputs, for names that are no parameters, and for what is no kernel.

    Example:
        >>> @ti.ad.torch_function(y=lambda x: x.new_zeros(x.shape))  # doctest: +SKIP
        ... @ti.kernel
        ... def square(x: ti.types.ndarray(ti.f32, 1), y: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         y[i] = x[i] ** 2
    """

    def decorate(kernel: Kernel) -> Callable[..., Any]:
        if not isinstance(kernel, Kernel):
            raise TaichiRuntimeError(f"{kernel!r} is no kernel", "put `@ti.ad.torch_function(...)` above `@ti.kernel`")
        names = [parameter.name for parameter in kernel.definition.parameters]
        unknown = [name for name in outputs if name not in names]
        if unknown or not outputs:
            what = f"has no parameter `{unknown[0]}`" if unknown else "needs the parameters that it writes"
            raise TaichiRuntimeError(f"kernel `{kernel.definition.name}` {what}", f"there are {', '.join(names)}")
        return _function_of(kernel, names, outputs)

    return decorate


def _function_of(kernel: Kernel, names: list[str], outputs: dict[str, Make]) -> Callable[..., Any]:
    inputs = [name for name in names if name not in outputs]

    @functools.wraps(kernel.definition.function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = dict(zip(inputs, args))
        missing = [name for name in inputs if name not in {**given, **kwargs}]
        if len(args) > len(inputs) or set(kwargs) - set(inputs) or set(kwargs) & set(given) or missing:
            raise TypeError(f"{kernel.definition.name} takes ({', '.join(inputs)})")
        values = {**given, **kwargs}
        return _autograd_function().apply(kernel, names, outputs, *(values[name] for name in inputs))

    call.kernel = kernel  # type: ignore[attr-defined]
    return call


@functools.cache
def _autograd_function() -> Any:
    """Return the class that torch calls; torch is imported here."""
    import torch

    class KernelFunction(torch.autograd.Function):  # type: ignore[misc]
        """The launch of a kernel, and that of its gradient."""

        @staticmethod
        def forward(ctx: Any, kernel: Kernel, names: list[str], outputs: dict[str, Make], *inputs: Any) -> Any:
            given = [value.detach().contiguous() if is_tensor(value) else value for value in inputs]
            made = {name: outputs[name](*given).detach() for name in names if name in outputs}
            for tensor in made.values():
                tensor.zero_()
            kernel(*_arguments(names, made, given))
            ctx.kernel, ctx.names, ctx.written = kernel, names, list(made)
            ctx.others = [None if is_tensor(value) else value for value in given]
            ctx.save_for_backward(*(value for value in given if is_tensor(value)), *made.values())
            return tuple(made.values()) if len(made) > 1 else next(iter(made.values()))

        @staticmethod
        @torch.autograd.function.once_differentiable  # type: ignore[untyped-decorator]
        def backward(ctx: Any, *adjoints: Any) -> Any:
            saved = list(ctx.saved_tensors)
            made, tensors = saved[len(saved) - len(ctx.written) :], iter(saved)
            given = [next(tensors) if value is None else value for value in ctx.others]
            wanted = ctx.needs_input_grad[3:]
            given = [_with_gradient(v, None) if w else v for v, w in zip(given, wanted, strict=True)]
            results = {
                name: _with_gradient(tensor, adjoint)
                for name, tensor, adjoint in zip(ctx.written, made, adjoints, strict=True)
            }
            with torch.no_grad():
                ctx.kernel.grad(*_arguments(ctx.names, results, given))
            return None, None, None, *(v.grad if w else None for v, w in zip(given, wanted, strict=True))

    return KernelFunction


def _arguments(names: list[str], made: dict[str, Any], given: list[Any]) -> list[Any]:
    """Return the arguments of the kernel in order."""
    rest = iter(given)
    return [made[name] if name in made else next(rest) for name in names]


def _with_gradient(tensor: Any, gradient: Any) -> Any:
    """Return a tensor in the same memory whose gradient is a copy of `gradient`, or zeros."""
    alias = tensor.detach().requires_grad_()
    alias.grad = tensor.new_zeros(tensor.shape) if gradient is None else gradient.detach().clone().contiguous()
    return alias
