"""What tells apart the calls of a kernel that are compiled apart: a key made of its arrays and template arguments.

In: a kernel's definition. Out: `Keys`, with a fast way for arguments that know their signature (fields and ndarrays),
and one for all others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from ..transpiler.frontend.definition import KernelDefinition
from ..transpiler.lang.annotations import NdarrayAnnotation, is_template
from .interop import describe_argument, key_of_argument


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A parameter that kernels are compiled for. annotation: of an array; None for `ti.template()`."""

    position: int
    annotation: NdarrayAnnotation | None

    @property
    def needs_grad(self) -> bool:
        return self.annotation is not None and bool(self.annotation.needs_grad)


class Keys:
    """Keys of one kernel's calls.

    fast(args): raises AttributeError where an argument has no signature. kept: objects that keys name by identity,
    which must live as long as the keys.
    """

    def __init__(self, definition: KernelDefinition) -> None:
        self.kept: dict[int, Any] = {}
        self._parameters = [
            _Parameter(position, annotation if isinstance(annotation, NdarrayAnnotation) else None)
            for position, annotation in enumerate(leaf.annotation for leaf in definition.leaves)
            if isinstance(annotation, NdarrayAnnotation) or is_template(annotation)
        ]
        items = [
            f"(args[{p.position}].signature, args[{p.position}].grad is None)" if p.needs_grad
            else f"args[{p.position}].signature"
            for p in self._parameters
        ]  # fmt: skip
        text = f"lambda args: ({', '.join(items)}{',' if items else ''})"
        self.fast: Callable[[Sequence[Any]], Hashable] = eval(text)  # noqa: S307 - text made of numbers

    def of(self, args: Sequence[Any]) -> Hashable:
        """Return the key of a call. Raises: TaichiRuntimeTypeError for an array that no kernel can take."""
        return tuple(self._of_one(parameter, args[parameter.position]) for parameter in self._parameters)

    def _of_one(self, parameter: _Parameter, value: Any) -> Hashable:
        annotation = parameter.annotation
        if annotation is None:
            return self._of_template(value)
        key = key_of_argument(value, annotation.element_axes)
        if annotation.needs_grad:
            return key, getattr(value, "grad", None) is None
        if annotation.is_element_open and not hasattr(value, "describe_array"):
            shape = describe_argument(value, "an argument", annotation.element_axes).shape
            return key, shape[len(shape) - annotation.element_axes :]
        return key

    def _of_template(self, value: Any) -> Hashable:
        signature = getattr(value, "signature", None)
        if signature is not None and not callable(signature):
            return signature  # type: ignore[no-any-return]
        if isinstance(value, (int, float, bool, str)) or value is None:
            return (type(value), value)
        self.kept[id(value)] = value
        return (type(value), id(value))
