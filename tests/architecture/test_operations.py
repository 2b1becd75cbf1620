"""One definition of each operation: what each lacks in other tables than `ir/ops.py`, and no second list of the same facts.

An operation that is new fails here until it has what it needs, or is in the list of those that do without.
"""

from __future__ import annotations

import ast
import inspect
import itertools
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from layers import nodes_of

import shadesmith as ti
from shadesmith.runtime.compat.lang_modules import ops as taichi_ops
from shadesmith.transpiler.backend.languages.c_family import tables as tables_c
from shadesmith.transpiler.backend.languages.cuda import tables as tables_cuda
from shadesmith.transpiler.backend.languages.glsl import tables as tables_glsl
from shadesmith.transpiler.backend.languages.glsl import tensors as tensors_glsl
from shadesmith.transpiler.backend.layout.trip_counts import HOST_OPERATIONS
from shadesmith.transpiler.ir import ops
from shadesmith.transpiler.ir.ops import HOST_OPS, MATH_H, NEGATED, OPS, U1_OPS, Op, RuleError
from shadesmith.transpiler.ir.types import SCALARS, Scalar, Tensor, f32, f64
from shadesmith.transpiler.lang import functions, operations
from shadesmith.transpiler.passes.analysis import intervals
from shadesmith.transpiler.passes.cleanup.simplify import IDENTITIES

ROOT = Path(ti.__file__).parent

NO_INTERVAL = """
pow pow_overflows sum_overflows dot_overflows cross_overflows matmul_overflows outer_product_overflows dot cross matmul
lean_matmul outer_product transpose sum rejoined
""".split()
"""`ranges` has no interval of their integer results: tensors, and powers, which mostly wrap."""

NO_VECTOR_FORM = """
pow exp2 exp10 raw_mod atan2 short_atan2 asin acos asinh acosh atanh isnan isinf floordiv:int mod:int raw_div:int shr:i32 sign:int clz
add_overflows sub_overflows mul_overflows shl_overflows pow_overflows wrapping_add wrapping_sub wrapping_mul wrapping_neg
near_mod close_mod biased_min biased_max lowest_bit shifted shifted_bits normal_reciprocal rounded_half root_square
flushed
""".split()
"""GLSL has no operation on vectors for them: our function computes element by element. A type or kind after a colon
restricts the entry to it."""

NO_EXACT_VARIANT = (
    "exp2 exp10 rounded_half root_square flushed floor ceil round acos asinh acosh atanh isnan isinf".split()
)
"""`fast_math=False` does not change them in GLSL: they are exact, or our own functions within 4 ulp (acos, asinh)."""

TO_DIFFERENTIATE = """
add sub mul div mod pow raw_div raw_mod min max at_most at_least running_min running_max scalar_min scalar_max atan2 neg abs sin cos tan asin acos tanh asinh acosh atanh exp log sqrt rsqrt normal_rsqrt select dot
normal_sqrt normal_reciprocal rounded_half root_square flushed short_sin short_cos short_atan2 exp2 exp10 paired_sin paired_cos
cross matmul lean_matmul outer_product transpose norm normal_norm normalized determinant inverse sum
""".split()
"""Issue 16 gives these a derivative; no operation has one yet."""

CONSTANT_IN_PIECES = "floordiv sign floor ceil round isnan isinf lt le gt ge eq ne".split()
"""Their derivative is zero where it exists."""


def operands_of(op: Op) -> Iterator[tuple[Scalar, tuple[Scalar, ...], Scalar]]:
    """Yield the types that an operation computes in: of all operands before its rule, after it, and of the result."""
    for scalar in SCALARS.values():
        try:
            needed, result = op.rule([scalar] * op.arity, f32)
        except RuleError:
            continue
        if scalar in needed:
            yield scalar, needed, result


def takes_floats(op: Op) -> bool:
    return any(scalar.is_float for scalar, _, _ in operands_of(op))


def test_operations_without_an_interval_rule() -> None:
    integral = {
        name for name, op in OPS.items() if any(r.is_integral for _, n, r in operands_of(op) if n[-1].is_integral)
    }
    assert integral - set(intervals.RULES) == set(NO_INTERVAL)
    assert set(intervals.RULES) | intervals.ON_TRUTHS <= set(OPS)


def has_vector_form(name: str, needed: tuple[Scalar, ...], result: Scalar) -> bool:
    return tensors_glsl.operation(name, [Tensor((3,), n) for n in needed], Tensor((3,), result)) is not None


def test_operations_without_a_vector_form() -> None:
    excused = dict.fromkeys(NO_VECTOR_FORM)
    found = set()
    for name, op in OPS.items():
        for scalar, needed, result in operands_of(op):
            if (
                op.shape_rule is None
                and scalar.name in ("f32", "i32", "u32")
                and not has_vector_form(name, needed, result)
            ):
                names = {name, f"{name}:{scalar}", f"{name}:int"} if scalar.is_integral else {name}
                assert names & excused.keys(), f"`{name}` of vectors of {scalar} is no operation of GLSL"
                found |= names & excused.keys()
    assert found == excused.keys()


@pytest.mark.parametrize("table", [tables_c, tables_cuda, tables_glsl], ids=["c", "cuda", "glsl"])
def test_every_operation_has_a_syntax(table) -> None:
    lacking = [
        (name, str(scalar))
        for name, op in OPS.items()
        for scalar, needed, _ in operands_of(op)
        if op.shape_rule is None
        and scalar.kind != "bool"
        and needed[-1] == scalar
        and not table.operation(name, scalar).template
    ]
    assert lacking == []


def test_operations_without_an_exact_variant() -> None:
    assert {name for name in tables_glsl.FLOATS if name not in tables_glsl.COARSE["f32"]} == set(NO_EXACT_VARIANT)
    own = [name for name in MATH_H if tables_glsl.has_helper(name, f64)]
    exact = [name for name in MATH_H if name not in own]
    assert exact == ["floor", "ceil", "sqrt"], "GLSL's own functions of double are these; others need ours"


def test_operations_without_a_derivative() -> None:
    lists = [*TO_DIFFERENTIATE, *CONSTANT_IN_PIECES]
    assert sorted(lists) == sorted(name for name, op in OPS.items() if takes_floats(op))


# --- the one table ----------------------------------------------------------------------------------------------------


def test_columns_name_rows() -> None:
    assert {*U1_OPS.values(), *NEGATED.values(), *IDENTITIES, *HOST_OPERATIONS} <= set(OPS)
    assert {*HOST_OPERATIONS.values()} <= set(HOST_OPS)
    assert all(NEGATED[NEGATED[name]] == name for name in NEGATED)


@pytest.mark.parametrize("name", HOST_OPS)
def test_a_host_computes_what_the_row_means(name: str) -> None:
    for operands in itertools.product((-7, -1, 0, 1, 5), repeat=OPS[name].arity):
        if name not in ("shl", "sar") or operands[1] >= 0:
            found = eval(OPS[name].host.format(*(f"({operand})" for operand in operands)))
            assert found == OPS[name].meaning(*map(np.int64, operands)), operands


def test_the_c_runtime_computes_the_same_extents() -> None:
    text = (ROOT / "runtime" / "c_api" / "shadesmith.c").read_text("utf-8")
    table = text[text.index("} OPERATORS[] = {") :].split("};")[0]
    found = {name: int(count) for name, count in re.findall(r'\{"(\w+)", (\d)\}', table)}
    assert found == {"const": 0, "member": 0, **HOST_OPS}


def test_no_module_above_the_table_lists_arities_again() -> None:
    for path in [*(ROOT / "transpiler").rglob("*.py"), *(ROOT / "runtime").rglob("*.py")]:
        for node in nodes_of(path):
            if isinstance(node, ast.Dict) and len(node.keys) > 3:
                names = [key.value for key in node.keys if isinstance(key, ast.Constant)]
                counts = [isinstance(v, ast.Constant) and isinstance(v.value, int) for v in node.values]
                assert not all(counts) or not set(names) <= set(OPS), f"{path.name}:{node.lineno}"


# --- public names -----------------------------------------------------------------------------------------------------


def test_functions_of_one_operation_are_called_as_their_row_and_take_its_operands() -> None:
    renamed = {"bit_shr": "shr"}
    for function, name in operations.OPERATION_OF.items():
        assert renamed.get(function.__name__, function.__name__) == name
        required = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        assert len(required) == (1 if OPS[name].takes_many else OPS[name].arity)


def test_public_functions_of_operations_are_listed_once() -> None:
    mathematical = {f.__name__ for f in operations.OPERATION_OF if f.__module__ == operations.__name__}
    assert sorted(mathematical) == operations.__all__
    assert {*operations.__all__, *functions.__all__} <= set(ti.__all__)
    assert set(operations.__all__) <= {*ti.math.__all__} & {*taichi_ops.__all__}
    for name in operations.__all__:
        assert getattr(ti, name) is getattr(ti.math, name) is getattr(taichi_ops, name) is getattr(operations, name)


def test_the_recipe_shows_the_sources_as_they_are() -> None:
    page = (ROOT / "docs" / "contributing" / "add-an-operation.md").read_text("utf-8")
    sources = [Path(inspect.getfile(module)).read_text("utf-8") for module in (operations, ops)]
    shown = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(shown) == 2 and all(any(block in source for source in sources) for block in shown)
