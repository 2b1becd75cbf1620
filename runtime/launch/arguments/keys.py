"""What tells apart the calls of a kernel that are compiled apart: a key made of its arrays and template arguments.

In: a kernel's definition. Out: `Keys`, with a fast way for arguments that know their signature (fields and ndarrays),
and one for all others. It is the first of a kernel's keys; what the others are made of: "Keys" in docs/cache.md.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.lang.annotations import NdarrayAnnotation, is_template
from ....transpiler.lang.describe import is_described
from ....transpiler.lang.textures import RWTextureType, TextureType
from ...arrays.interop import describe_argument, key_of_argument
from .identities import Identities
from .textures import as_texture

Key = Callable[[Sequence[Any]], Hashable]


class Keys:
    """Keys of one kernel's calls, made by functions that are written once as Python text, of numbers only.

    fast(args): of fields and ndarrays; raises AttributeError for other arrays. of(args): of all; raises
    TaichiRuntimeTypeError for an array that no kernel can take. identities: of the objects that keys name.
    """

    def __init__(self, definition: KernelDefinition) -> None:
        self.identities = Identities()
        keyed = [
            (position, leaf.annotation)
            for position, leaf in enumerate(definition.flat_parameters)
            if isinstance(leaf.annotation, NdarrayAnnotation | TextureType | RWTextureType)
            or is_template(leaf.annotation)
        ]
        names = {
            "array": key_of_argument,
            "open_array": _key_with_elements,
            "texture": as_texture,
            "template": self.identities.key_of,
        }
        self.fast: Key = _tuple_of(
            [
                _graded(f"args[{position}].{_signature_of(annotation)}", position, annotation)
                for position, annotation in keyed
            ],
            {},
        )
        self.of: Key = _tuple_of([_item(position, annotation) for position, annotation in keyed], names)


def _tuple_of(items: Sequence[str], names: dict[str, Any]) -> Key:
    """Return the function of `args` that gives a tuple of the items, Python expressions in which `names` stand."""
    made: Key = eval(f"lambda args: ({', '.join(items)}{',' if items else ''})", names)  # noqa: S307 - text made of numbers
    return made


def _item(position: int, annotation: Any) -> str:
    if isinstance(annotation, TextureType | RWTextureType):
        return f"texture(args[{position}]).{_signature_of(annotation)}"
    if not isinstance(annotation, NdarrayAnnotation):
        return f"template(args[{position}])"
    way = "open_array" if annotation.is_element_open else "array"
    return _graded(f"{way}(args[{position}], {annotation.element_axes})", position, annotation)


def _signature_of(annotation: Any) -> str:
    """Return the attribute of an argument that tells what is compiled apart."""
    return "sampled_signature" if isinstance(annotation, TextureType) else "signature"


def _graded(item: str, position: int, annotation: Any) -> str:
    """Return an item that tells also whether there is a gradient, where the annotation asks for one."""
    asks = isinstance(annotation, NdarrayAnnotation) and annotation.needs_grad
    return f"({item}, getattr(args[{position}], 'grad', None) is None)" if asks else item


def _key_with_elements(value: Any, element_axes: int) -> Hashable:
    """Return the key of an array with the shape of its elements, where that follows from the argument."""
    key = key_of_argument(value, element_axes)
    if is_described(value):
        return key
    shape = describe_argument(value, "an argument", element_axes).shape
    return key, shape[len(shape) - element_axes :]
