"""NumPy's structured arrays as arrays of structs.

In: a structured dtype. Out: the struct whose members have the same offsets, so that kernels use the array's memory
directly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeTypeError
from ...transpiler.ir.types import SCALAR_OF_NUMPY, Scalar, Struct, Tensor, Type
from ...transpiler.lang.annotations import matrix, vector
from ...transpiler.lang.struct import StructType


def struct_of(dtype: np.dtype[Any], where: str, wanted: Struct | None = None) -> Struct:
    """Return the struct of a structured dtype, `wanted` if the kernel declares one.

    where: names the argument in errors. Raises: TaichiRuntimeTypeError for members that differ from `wanted`, for types
    that kernels cannot hold, and for a layout other than that of C.
    """
    if wanted is not None:
        if dtype != wanted.numpy:
            raise TaichiRuntimeTypeError(
                f"{where} takes structs `{wanted.definition}`, and the array's dtype is {dtype}",
                f"give it the dtype `numpy.dtype({_listed(wanted)}, align=True)`",
            )
        return wanted
    found = _struct_type(dtype)
    if isinstance(found, tuple):
        raise TaichiRuntimeTypeError(f"{where} has dtype {dtype}, {found[0]}", found[1])
    return found.dtype


@lru_cache(maxsize=256)
def _struct_type(dtype: np.dtype[Any]) -> StructType | tuple[str, str]:
    """Return the struct type of a structured dtype, or the error message and the hint."""
    assert dtype.names is not None and dtype.fields is not None
    members: dict[str, Any] = {}
    for name in dtype.names:
        member = _member_type(dtype.fields[name][0])
        if member is None:
            message = f"whose member `{name}` ({dtype.fields[name][0]}) kernels cannot hold"
            return message, "use numbers in this machine's byte order, vectors, matrices and structs of these"
        if isinstance(member, tuple):
            return member
        members[name] = member
    if not all(name.isidentifier() for name in members):
        return "whose members are not identifiers", "rename them"
    result = StructType(members, {})
    if result.dtype.numpy != dtype:
        return (
            "whose members have other offsets than in C",
            f"use `numpy.dtype({_listed(result.dtype)}, align=True)`, or pass `x.astype(...)` of it",
        )
    return result


def _member_type(dtype: np.dtype[Any]) -> Any:
    """Return a member's type, the message and hint for an unsuitable struct, or None if there is no such type."""
    if dtype.names is not None:
        return _struct_type(dtype)
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        scalar = _scalar(inner)
        if scalar is None or len(shape) > 2 or 0 in shape:
            return None
        return vector(shape[0], scalar) if len(shape) == 1 else matrix(shape[0], shape[1], scalar)
    return _scalar(dtype)


def _scalar(dtype: np.dtype[Any]) -> Scalar | None:
    return SCALAR_OF_NUMPY.get(dtype) if dtype.isnative else None


def _listed(struct: Struct) -> str:
    """Return the members of a struct in the notation of `numpy.dtype`."""
    return f"[{', '.join(f'({name!r}, {_formatted(type)})' for name, type in struct.members)}]"


def _formatted(type: Type) -> str:
    if isinstance(type, Struct):
        return f"numpy.dtype({_listed(type)}, align=True)"
    if isinstance(type, Tensor):
        return f"{type.element.numpy.str[1:]!r}, {type.shape[0] if len(type.shape) == 1 else type.shape}"
    return repr(type.numpy.str[1:])
