"""The C expression of every scalar operation and cast against its meaning in the op table, on edge values."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import resident

from shadesmith.transpiler.backend.languages.common import syntax
from shadesmith.transpiler.backend.languages.registry import LANGUAGES
from shadesmith.transpiler.ir.builder import Builder
from shadesmith.transpiler.ir.nodes import Block, Statement
from shadesmith.transpiler.ir.ops import OPS, RuleError
from shadesmith.transpiler.ir.statements import ArgLoad, Cast, Operation, Parameter
from shadesmith.transpiler.ir.types import SCALARS, Scalar, f32

HEADER = "#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n"
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -7.5, 2.0, 3.0, 1e-3, 100.25, np.inf, -np.inf, np.nan]
ULPS = {
    "pow": 4,
    "sin": 4,
    "cos": 4,
    "tan": 4,
    "asin": 4,
    "acos": 4,
    "atan2": 4,
    "tanh": 4,
    "asinh": 4,
    "acosh": 4,
    "atanh": 4,
    "exp": 4,
    "log": 4,
    "rsqrt": 2,
    "normal_rsqrt": 2,
    "normal_sqrt": 2,
    "short_sin": 4,
    "short_cos": 4,
    "short_atan2": 4,
    "exp2": 4,
    "exp10": 4,
    "paired_sin": 4,
    "paired_cos": 4,
    "normal_reciprocal": 2,
}
ROWS = [op for op in OPS.values() if op.shape_rule is None]
PLAIN = ("plain_div", "plain_mod")
"""Operations of dividends that are not negative and divisors that are positive."""


def edges(type: Scalar) -> np.ndarray:
    """Return values where operations tend to go wrong."""
    if type.kind == "bool":
        return np.array([False, True])
    if type.is_float:
        info = np.finfo(type.numpy)
        return np.array([*FLOATS, info.max, info.tiny, info.smallest_subnormal], type.numpy)
    info = np.iinfo(type.numpy)
    small = [v for v in (-9, -3, -2, -1, 0, 1, 2, 3, 7, 8, 31) if v >= info.min]
    return np.array([*small, info.min, info.min + 1, info.max, info.max - 1], type.numpy)


def operation(name: str, scalar: Scalar) -> Operation | None:
    """Return the operation on arguments of the types its rule gives, or None if it refuses them."""
    try:
        needed, _ = OPS[name].rule([scalar] * OPS[name].arity, f32)
    except RuleError:
        return None
    if name != "select" and any(n != scalar for n in needed):
        return None
    arguments: list[Statement] = [ArgLoad(Parameter("p", t, 0), type=t) for t in needed]
    made = Builder(Block()).op(name, *arguments)
    return (
        made if isinstance(made, Operation) and made.op == name else None
    )  # on u1 the builder chooses other operations


def array_function(name: str, form: syntax.Syntax, types: list[Scalar], result: Scalar) -> str:
    """Return a C function that applies the expression to arrays of n elements."""
    texts = [f"p{k}[i]" for k in range(len(types))]
    parameters = ", ".join(f"const {syntax.type_name(LANGUAGES['c'], t)} *p{k}" for k, t in enumerate(types))
    loop = f"for (int i = 0; i < n; i++) {{ out[i] = {form.format(*texts)}; }}"
    return f"void case_{name}({syntax.type_name(LANGUAGES['c'], result)} *out, {parameters}, int n) {{ {loop} }}"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """All operations and casts as array functions."""
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    lines: list[str] = []
    keys: dict[str, None] = {}
    for row, scalar in product(ROWS, SCALARS.values()):
        made = operation(row.name, scalar)
        if made is not None:
            form = syntax.operation_syntax(LANGUAGES["c"], made)
            keys.update(dict.fromkeys(form.helpers))
            types = [o.type for o in made.operands if isinstance(o.type, Scalar)]
            assert isinstance(made.type, Scalar)
            lines.append(array_function(f"{row.name}_{scalar}", form, types, made.type))
    for old, new in product(SCALARS.values(), repeat=2):
        form = syntax.cast_syntax(LANGUAGES["c"], Cast(ArgLoad(Parameter("p", old, 0), type=old), type=new))
        lines.append(array_function(f"cast_{old}_{new}", form, [old], new))
    folder: Path = tmp_path_factory.mktemp("values")
    (folder / "cases.c").write_text("\n".join([HEADER, syntax.helpers_source(LANGUAGES["c"], keys), *lines]))
    effort = "-O2" if resident.are_plain() else "-O1"  # 3.3 s in place of 5.2
    flags = ["-std=gnu11", effort, "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(folder / "cases.c"), "-o", str(folder / "cases.so"), "-lm"], check=True)
    return ctypes.CDLL(str(folder / "cases.so"))


def call(library: ctypes.CDLL, name: str, operands: list[np.ndarray], result: Scalar) -> np.ndarray:
    """Return what C gives for arrays of one length."""
    out = np.zeros(len(operands[0]), result.numpy)
    pointers = [ctypes.c_void_p(a.ctypes.data) for a in (out, *operands)]
    getattr(library, f"case_{name}")(*pointers, ctypes.c_int(len(out)))
    return out


def combinations(types: list[Scalar]) -> list[np.ndarray]:
    """Return arrays that together hold every combination of edge values."""
    rows = list(product(*(edges(t) for t in types)))
    return [np.array([row[k] for row in rows], t.numpy) for k, t in enumerate(types)]


def agrees(found: np.ndarray, wanted: np.ndarray, ulps: int) -> np.ndarray:
    """Return where two arrays are equal, both NaN, or within `ulps`."""
    same = found == wanted
    if wanted.dtype.kind == "f":
        same |= np.isnan(found) & np.isnan(wanted)
        if ulps:
            same |= np.abs(found.astype(float) - wanted.astype(float)) <= ulps * np.abs(
                np.spacing(wanted.astype(found.dtype))
            )
    return same


def mistakes(library: ctypes.CDLL, name: str, scalar: Scalar) -> list[tuple[object, ...]]:
    """Return operands, found and wanted value where C and the op table differ."""
    made = operation(name, scalar)
    if scalar.name == "f16" and name in ("mod", "floordiv"):
        return []  # C computes it as f32, which is more exact than rounding each step
    if made is None or (scalar.name == "u1" and name in ("shl", "sar", "shr", "sign")):
        return []  # refused, computed in another type, or without meaning on NumPy's bool
    assert isinstance(made.type, Scalar)
    operands = combinations([o.type for o in made.operands if isinstance(o.type, Scalar)])
    if name in PLAIN:
        defined = (operands[0] >= 0) & (operands[1] > 0)
        operands = [operand[defined] for operand in operands]
    elif name in ("at_most", "at_least"):
        operands = [operand[~np.isnan(operands[1])] for operand in operands]
    elif name in ("near_mod", "close_mod"):  # from -b to 2 * b - 1, or from -2 * b to 3 * b - 1
        dividend, divisor = (operand.astype(object) for operand in operands)
        k = 1 if name == "near_mod" else 2
        defined = ((divisor > 0) & (dividend >= -k * divisor) & (dividend < (k + 1) * divisor)).astype(bool)
        operands = [operand[defined] for operand in operands]
    with np.errstate(all="ignore"):
        wanted = np.array([OPS[name].meaning(*row) for row in zip(*operands, strict=True)], made.type.numpy)
        found = call(library, f"{name}_{scalar}", operands, made.type)
        same = agrees(found, wanted, ULPS.get(name, 0))
    if name == "pow" and scalar.is_float:
        same |= np.isneginf(operands[0])  # NumPy takes the square root for 0.5: NaN where IEEE 754 says infinity
    return [(scalar, *(a[k] for a in operands), found[k], wanted[k]) for k in np.flatnonzero(~same)[:4]]


@pytest.mark.parametrize("name", [row.name for row in ROWS])
def test_c_computes_what_the_op_table_means(library: ctypes.CDLL, name: str) -> None:
    assert not [row for scalar in SCALARS.values() for row in mistakes(library, name, scalar)]


@pytest.mark.parametrize("old", SCALARS.values(), ids=str)
def test_c_casts_as_numpy_where_the_value_fits(library: ctypes.CDLL, old: Scalar) -> None:
    for new in SCALARS.values():
        values = edges(old)
        if old.is_float and new.kind in ("int", "uint"):
            info = np.iinfo(new.numpy)
            values = values[
                np.isfinite(values)
                & (np.trunc(values).astype(float) >= float(info.min))
                & (values.astype(float) < float(info.max))
            ]
        with np.errstate(all="ignore"):
            wanted = values.astype(new.numpy)
            found = call(library, f"cast_{old}_{new}", [values], new)
        assert agrees(found, wanted, 0).all(), (new, values, found, wanted)
