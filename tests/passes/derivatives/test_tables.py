"""Every operation has its adjoint, and every statement a rule, or a reason why it has none."""

from __future__ import annotations

from shadesmith.transpiler.ir import functions, remarks, sparse, statements, textures, threads
from shadesmith.transpiler.ir.nodes import Statement
from shadesmith.transpiler.ir.ops import OPS
from shadesmith.transpiler.passes.derivatives.parts.adjoints import ADJOINTS, ZERO
from shadesmith.transpiler.passes.derivatives.parts.tangents import TANGENTS
from shadesmith.transpiler.passes.derivatives.reverse_mode import RULES

POINTERS = {"GlobalPtr", "MatrixPtr", "StructPtr", "GlobalTemporary", "Reference"}
CONSTANT = {"Const", "LoopIndex", "ArgLoad", "ArrayShape", "IsAligned", "CellIndex", "CellNumber", "IsActive",
            "Length", "PoolCount", "TextureSample", "TextureFetch", "ImageLoad", "Rand"}  # fmt: skip
"""Values that depend on no array with a derivative."""
WITHOUT_VALUE = {"OmittedStatement", "Print", "Assert", "Notice", "IndexCheck", "Break", "Continue", "Return", "Activate",
                 "Deactivate", "DeactivateEntry", "Append", "ImageStore"}  # fmt: skip
REFUSED = {"Barrier", "Collective", "Exchange", "ThreadIndex", "ThreadFor", "Call", "CallResult"}
"""Refused by `check_kernel`, or made by later passes."""


def test_an_operation_has_an_adjoint_or_the_derivative_0() -> None:
    assert [name for name in OPS if (name in ADJOINTS) == (name in ZERO)] == []


def test_an_operation_of_whole_vectors_has_a_tangent_of_its_own() -> None:
    shaped = {name for name in ADJOINTS if OPS[name].shape_rule is not None}
    assert shaped == set(TANGENTS)


def test_each_kind_of_statement_has_a_rule_or_needs_none() -> None:
    modules = (statements, functions, remarks, sparse, textures, threads)
    kinds = {k for m in modules for k in vars(m).values() if isinstance(k, type) and issubclass(k, Statement)}
    names = {kind.__name__ for kind in kinds - {Statement}}
    ruled = {kind.__name__ for kind in RULES}
    assert names - ruled - POINTERS - CONSTANT - WITHOUT_VALUE - REFUSED == set()
