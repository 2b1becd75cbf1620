"""`ti.lang.struct`: struct types, values and fields."""

from __future__ import annotations

from ....transpiler.lang.struct import Struct, StructType, dataclass
from ...fields.field import StructField

__all__ = ["Struct", "StructField", "StructType", "dataclass"]
