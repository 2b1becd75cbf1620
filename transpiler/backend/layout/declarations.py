"""Declarations of memory: members of generated structs, types of GLSL buffer references, array types in comments."""

from __future__ import annotations

from dataclasses import dataclass

from ...ir.statements import (
    Array,
)
from ...ir.types import (
    Tensor,
    Type,
    parts_of,
    scalars_of,
)
from ..languages.common.target import Target

BLOCK_NAMES = {"int": "I", "uint": "U", "float": "F", "bool": "B"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One member of a generated struct as text. note: what the comment beside it says."""

    type: str
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A GLSL buffer reference type: `layout(...) buffer F32 { float v[]; };`."""

    name: str
    element: str
    align: int
    row_major: bool
    volatile: bool = False
    coherent: bool = False


def precise(target: Target, type: Type, declared: str) -> str:
    """Return the declaration of memory; with `exact`, GLSL rounds each operation whose result goes there by itself."""
    is_float = any(scalar.is_float for scalar in scalars_of(type))
    return f"{target.language.precise}{declared}" if target.exact and is_float else declared


def array_type(array: Array) -> str:
    """Return how a comment names an array's type: `ndarray[f32, 2]`, `field[f32, 512x512 from (0, 1)]`."""
    if array.shape is None:
        flags = f"{', strided' if array.strided else ''}{', clamped' if array.clamped else ''}"
        return f"ndarray[{array.element}, {array.ndim}{flags}]"
    since = f" from ({', '.join(map(str, array.offset))})" if array.offset else ""
    return f"field[{array.element}, {'x'.join(map(str, array.shape)) or '0-D'}{since}]"


def has_matrix(type: Type) -> bool:
    """Tell whether a part of `type` is a matrix of GLSL's own, which lies in memory row by row if it is told to."""
    parts = (part for part in parts_of(type) if isinstance(part, Tensor))
    return any(len(part.shape) == 2 and max(part.shape) <= 4 for part in parts)


def has_vector(type: Type) -> bool:
    """Tell whether a part of `type` is a vector or matrix."""
    return any(isinstance(part, Tensor) for part in parts_of(type))
