"""Types of the language for those of a manifest: for arguments, fields and results of loaded kernels.

In: a Type, Parameter or element of docs/archive.md, read and checked. Out: IR types, annotations, definitions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...transpiler.backend.module.interface import ResultField
from ...transpiler.frontend.source.definition import ParameterDefinition
from ...transpiler.ir.types import SCALARS, Scalar, Struct, Tensor, Type
from ...transpiler.lang.annotations import NdarrayAnnotation, matrix, vector
from ...transpiler.lang.struct import StructType
from ...transpiler.lang.textures import Format, RWTextureType, TextureType
from .container import ArchiveError


def type_of(data: Any) -> Type:
    """Return a Type."""
    if isinstance(data, str):
        return SCALARS[data]
    if "struct" in data:
        return struct_of(data["struct"], data["members"])
    return Tensor(tuple(data["shape"]), SCALARS[data["element"]])


def struct_of(name: str, members: Sequence[Sequence[Any]]) -> Struct:
    """Return a struct type whose values can be created."""
    types = {member: type_of(data) for member, data in members}
    return Struct(name, tuple(types.items()), StructType({k: declared(v) for k, v in types.items()}, {}, name))


def declared(type: Type) -> Any:
    """Return a type as in the declaration of a struct."""
    if isinstance(type, Tensor):
        rows, *columns = type.shape
        return matrix(rows, columns[0], type.element) if columns else vector(rows, type.element)
    return type.origin if isinstance(type, Struct) else type


def element_of(data: Mapping[str, Any]) -> Type:
    """Return the element of an array or field. Raises: ArchiveError if its size is not that of the type."""
    if data["members"] is not None:
        found: Type = struct_of(data["element"], data["members"])
    else:
        scalar = SCALARS[data["element"]]
        found = Tensor(tuple(data["element_shape"]), scalar) if data["element_shape"] else scalar
    if found.size_bytes != data["element_size_bytes"]:
        raise ArchiveError(f"elements of {found} have {found.size_bytes} bytes, not {data['element_size_bytes']}")
    return found


def annotation_of(parameter: Mapping[str, Any]) -> Any:
    """Return the annotation of a parameter in Python. Templates, which are not passed, count as i32."""
    match parameter["kind"]:
        case "scalar":
            return SCALARS[parameter["type"]]
        case "matrix":
            return Tensor(tuple(parameter["shape"]), SCALARS[parameter["type"]])
        case "struct":
            return struct_of(parameter["type"], parameter["members"])
        case "ndarray":
            needs_grad = True if parameter["gradient"] else None
            return NdarrayAnnotation(element_of(parameter), parameter["ndim"], needs_grad)
        case "texture":
            return TextureType(parameter["ndim"])
        case "rw_texture":
            return RWTextureType(parameter["ndim"], parameter["lod"], Format[parameter["format"]])
    return SCALARS["i32"]


def declared_result(field: ResultField) -> Any:
    """Return the annotation of a result in Python."""
    if field.members:
        return StructType({name: declared_result(member) for name, member in field.members}, {}, field.type)
    scalar: Scalar = SCALARS[field.type]
    return declared(Tensor(field.shape, scalar)) if field.shape else scalar


class LoadedDefinition:
    """What a `KernelDefinition` is to the functions that look at a call's arguments.

    flat_parameters: one a parameter. returns: types of the results. derivative, fast_math, passes: none.
    """

    derivative = ""
    fast_math: bool | None = None
    passes: tuple[Any, ...] = ()

    def __init__(self, name: str, parameters: Sequence[Mapping[str, Any]], results: Sequence[ResultField]) -> None:
        self.name = name
        self.flat_parameters = tuple(
            ParameterDefinition(parameter["name"], annotation_of(parameter), None) for parameter in parameters
        )
        self.returns = tuple(declared_result(field) for field in results)
