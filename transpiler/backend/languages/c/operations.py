"""Operations of C that differ from those of CUDA C: the lesser and greater of two floats are no calls of math.h."""

from __future__ import annotations

from ....ir.ops import EXTREMES
from ....ir.types import Scalar
from ..c_family import tables
from ..common.syntax_forms import PRIMARY, Syntax, call, custom


def operation(op: str, type: Scalar) -> Syntax:
    """Return the syntax of `op` on scalars of `type` (of the values, for `select`)."""
    if (op in ("min", "max") or op in EXTREMES) and type.name in ("f32", "f64"):
        return call(f"{op}_{type}", 2, f"{op}_{type}")
    return tables.operation(op, type)


def lane_cast(old: Scalar, new: Scalar) -> Syntax:
    """Return the syntax of a conversion from f16 in memory, or to f16, by integers, of which gcc 12 makes vectors."""
    return custom("f32_from_f16(&{0})", PRIMARY, PRIMARY) if old.name == "f16" else call("f16_from_f32")
