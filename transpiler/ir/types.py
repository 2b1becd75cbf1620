"""Types of values in a kernel: scalars and tensors (vectors and matrices) of scalars, and the rules of promotion."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number type. kind: "int", "uint", "float" or "bool"; in memory it takes `size_bytes` (a byte for u1)."""

    name: str
    kind: str
    bits: int

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return max(1, self.bits // 8)

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer or u1."""
        return self.kind != "float"

    @property
    def is_signed(self) -> bool:
        """Whether it holds negative numbers."""
        return self.kind in ("int", "float")

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of equal layout."""
        return NUMPY[self.name]

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __call__(self, value: Any) -> Any:
        """Cast a Python number as the type would (Python scope); inside kernels it is `ti.cast`."""
        if self.kind == "float":
            return float(self.numpy.type(value))
        if self.kind == "bool":
            return bool(value)
        wrapped = int(value) & ((1 << self.bits) - 1)
        return wrapped - (1 << self.bits) if self.kind == "int" and wrapped >> (self.bits - 1) else wrapped


@dataclass(frozen=True, slots=True)
class Tensor:
    """A vector, shape (n,), or a matrix, shape (n, m), of scalars, stored row by row."""

    shape: tuple[int, ...]
    element: Scalar

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory, without padding."""
        return self.size * self.element.size_bytes

    def __str__(self) -> str:
        return f"{self.element}[{'x'.join(map(str, self.shape))}]"


Type = Scalar | Tensor

i8, i16, i32, i64 = (Scalar(f"i{bits}", "int", bits) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (Scalar(f"u{bits}", "uint", bits) for bits in (8, 16, 32, 64))
f16, f32, f64 = (Scalar(f"f{bits}", "float", bits) for bits in (16, 32, 64))
u1 = Scalar("u1", "bool", 1)

SCALARS: dict[str, Scalar] = {t.name: t for t in (i8, i16, i32, i64, u1, u8, u16, u32, u64, f16, f32, f64)}
NUMPY: dict[str, np.dtype[Any]] = {
    t.name: np.dtype(
        {"int": "i", "uint": "u", "float": "f", "bool": "?"}[t.kind] + ("" if t.bits == 1 else str(t.bits // 8))
    )
    for t in SCALARS.values()
}
SCALAR_OF_NUMPY: dict[np.dtype[Any], Scalar] = {dtype: SCALARS[name] for name, dtype in NUMPY.items()}


def element_of(type: Type) -> Scalar:
    """Return the scalar type of a value: itself, or that of a tensor's elements."""
    return type.element if isinstance(type, Tensor) else type


def with_element(type: Type, element: Scalar) -> Type:
    """Return `type` with its scalar replaced by `element`."""
    return Tensor(type.shape, element) if isinstance(type, Tensor) else element


def promote(a: Scalar, b: Scalar) -> Scalar:
    """Return the type in which `a` and `b` meet: float beats integer, wider beats narrower, unsigned beats signed.

    u1 counts as an unsigned type of 8 bits, so i8 and u1 meet in u1. Source: measured on Taichi 1.7.4, all pairs
    (tests/data/binary_ops.json).
    """
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.size_bytes != b.size_bytes:
        return a if a.size_bytes > b.size_bytes else b
    return a if b.kind == "int" else b
