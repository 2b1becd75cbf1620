"""`ti.types.primitive_types`: the number types by all their names, and lists of them."""

from __future__ import annotations

from typing import Any

from ...transpiler.ir.types import f16, f32, f64, i8, i16, i32, i64, u1, u8, u16, u32, u64
from ...transpiler.lang.annotations import ref

float16, float32, float64 = f16, f32, f64
int8, int16, int32, int64 = i8, i16, i32, i64
uint1, uint8, uint16, uint32, uint64 = u1, u8, u16, u32, u64

real_types: list[Any] = [f16, f32, f64, float]
integer_types: list[Any] = [i8, i16, i32, i64, u1, u8, u16, u32, u64, int, bool]
all_types: list[Any] = real_types + integer_types

real_type_ids = [id(dtype) for dtype in real_types]
integer_type_ids = [id(dtype) for dtype in integer_types]
type_ids = [id(dtype) for dtype in all_types]

__all__ = [
    "f16", "f32", "f64", "float16", "float32", "float64", "i8", "i16", "i32", "i64", "int8", "int16", "int32",
    "int64", "ref", "u1", "u8", "u16", "u32", "u64", "uint1", "uint8", "uint16", "uint32", "uint64",
]  # fmt: skip
