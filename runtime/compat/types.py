"""`ti.types`: number types, vector, matrix and array types, and predicates on number types."""

from __future__ import annotations

from ...transpiler.ir.types import Scalar, Tensor
from ...transpiler.lang.annotations import NDArray, matrix, ndarray, ref, template, vector
from ...transpiler.lang.packs import ArgPackType as argpack
from ...transpiler.lang.struct import struct
from ...transpiler.lang.textures import rw_texture, texture
from ...transpiler.lang.triplets import sparse_matrix_builder
from ..missing_names import missing
from . import inner, primitive_types
from .primitive_types import (
    f16,
    f32,
    f64,
    float16,
    float32,
    float64,
    i8,
    i16,
    i32,
    i64,
    int8,
    int16,
    int32,
    int64,
    u1,
    u8,
    u16,
    u32,
    u64,
    uint1,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "NDArray", "argpack", "f16", "f32", "f64", "float16", "float32", "float64", "i16", "i32", "i64", "i8", "int16",
    "int32", "int64", "int8", "is_integral", "is_real", "is_signed", "is_tensor", "matrix", "ndarray",
    "primitive_types", "ref", "rw_texture", "sparse_matrix_builder", "struct", "template", "texture", "u1", "u16",
    "u32", "u64", "u8", "uint1", "uint16", "uint32", "uint64", "uint8", "vector",
]  # fmt: skip


def _scalar(dtype: object, predicate: str) -> Scalar:
    if not isinstance(dtype, Scalar):
        raise TypeError(f"{predicate}() takes a number type such as ti.f32, found {dtype!r}")
    return dtype


def is_integral(dtype: object) -> bool:
    """Return whether number type `dtype` is an integer (u1 counts). Raises: TypeError for other objects.

    Example:
        >>> ti.types.is_integral(ti.i32)
        True
    """
    return _scalar(dtype, "is_integral").is_integral


def is_real(dtype: object) -> bool:
    """Return whether number type `dtype` is a floating-point type. Raises: TypeError as `is_integral`.

    Example:
        >>> ti.types.is_real(ti.i32)
        False
    """
    return _scalar(dtype, "is_real").is_float


def is_signed(dtype: object) -> bool:
    """Return whether number type `dtype` holds negative numbers. Raises: TypeError as `is_integral`.

    Example:
        >>> ti.types.is_signed(ti.u8)
        False
    """
    return _scalar(dtype, "is_signed").is_signed


def is_tensor(dtype: object) -> bool:
    """Return whether element type `dtype` is that of vectors or matrices. Raises: TypeError for other objects.

    Example:
        >>> ti.types.is_tensor(ti.f32)
        False
    """
    return isinstance(dtype, Tensor) or not _scalar(dtype, "is_tensor")


def __getattr__(name: str) -> object:
    if f"types.{name}" in inner.TABLE:
        return inner.member("types", name)
    raise missing("ti.types", name)
