"""Keys of calls: calls of a kernel with equal keys share one specialization.

In: a kernel's definition. Out: `Keys`, with a fast function for arguments that have a signature (fields and ndarrays),
and one for all others. It is the first of a kernel's keys; "Keys" in docs/cache.md describes the others.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.lang.annotations import NdarrayAnnotation, is_template
from ....transpiler.lang.textures import RWTextureType, TextureType
from ...arrays.interop import has_grad, key_of_argument, owns_gradients
from .identities import Identities
from .textures import as_texture

Key = Callable[[Sequence[Any]], Hashable]


class Keys:
    """Keys of one kernel's calls, made by functions that are generated once as Python source, from numbers only.

    Attributes:
        fast: takes the arguments of a call; raises AttributeError for arrays other than fields and ndarrays.
        of: takes any arguments; raises TaichiRuntimeTypeError for an array that no kernel can take.
        identities: of the objects that are part of keys.
        is_keyed: whether any argument is part of keys; else all keys are ().
    """

    def __init__(self, definition: KernelDefinition) -> None:
        self.identities, derivative = Identities(), definition.derivative
        keyed = [
            (position, parameter.annotation)
            for position, parameter in enumerate(definition.flat_parameters)
            if isinstance(parameter.annotation, (NdarrayAnnotation, TextureType, RWTextureType))
            or is_template(parameter.annotation)
        ]
        self.is_keyed = bool(keyed)
        names = {
            "array": key_of_argument,
            "texture": as_texture,
            "template": self.identities.key_of,
            "has_grad": has_grad,
            "owns_gradients": owns_gradients,
        }
        own = ["owns_gradients(args)"] if derivative == "reverse" and keyed else []
        self.fast: Key = _tuple_of(
            [
                _with_gradient(f"args[{position}].{_signature_of(annotation)}", position, annotation, derivative)
                for position, annotation in keyed
            ]
            + own,
            names,
        )
        items = [_item(position, annotation, derivative) for position, annotation in keyed]
        self.of: Key = _tuple_of(items + own, names)


def _tuple_of(items: Sequence[str], names: dict[str, Any]) -> Key:
    """Return the function of `args` that returns a tuple of the items, Python expressions over `args` and `names`."""
    source = f"lambda args: ({', '.join(items)}{',' if items else ''})"
    key: Key = eval(source, names)  # noqa: S307 - the source is made of numbers
    return key


def _item(position: int, annotation: Any, derivative: str) -> str:
    if isinstance(annotation, (TextureType, RWTextureType)):
        return f"texture(args[{position}]).{_signature_of(annotation)}"
    if not isinstance(annotation, NdarrayAnnotation):
        return _with_gradient(f"template(args[{position}])", position, annotation, derivative)
    return _with_gradient(f"array(args[{position}], {annotation.element_axes})", position, annotation, derivative)


def _signature_of(annotation: Any) -> str:
    """Return the attribute of an argument that distinguishes specializations."""
    return "sampled_signature" if isinstance(annotation, TextureType) else "signature"


def _with_gradient(item: str, position: int, annotation: Any, derivative: str) -> str:
    """Return an item that also has whether there is a gradient, if the annotation or a derivative needs one."""
    needs_grad = isinstance(annotation, NdarrayAnnotation) and annotation.needs_grad
    is_texture = isinstance(annotation, TextureType | RWTextureType)
    return f"({item}, has_grad(args[{position}]))" if needs_grad or (derivative and not is_texture) else item
