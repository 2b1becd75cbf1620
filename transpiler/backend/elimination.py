"""Determinant and inverse of square matrices of any size, by elimination: bodies of generated functions.

Cofactors, which GLSL's own `determinant` and `inverse` use, lose digits with the square of the condition number and
beyond; elimination with the largest element of a column as the pivot loses them with the condition number itself. Rows
are exchanged element by element under a condition, not through a computed row number: a compiler that unrolls the loops
keeps small matrices in registers then.
"""

from __future__ import annotations

from ..ir.types import Tensor
from . import literals
from .tensors import element_text, name_of, tensor_name


def determinant(target: str, matrix: Tensor, absolute: str) -> str:
    """Return the body of a function of `a`; `absolute` is the template of the absolute value of {0}."""
    n, scalar = matrix.shape[0], name_of(target, matrix.element)
    zero, one = (literals.literal(target, matrix.element, value).text for value in (0, 1))

    def a(row: str, column: str) -> str:
        return element_text(target, matrix, "a", (row, column))

    return f"""\
    {scalar} r = {one};
    for (int k = 0; k < {n}; k++) {{
        for (int i = k + 1; i < {n}; i++) {{
            if ({absolute.format(a("i", "k"))} > {absolute.format(a("k", "k"))}) {{
                for (int j = k; j < {n}; j++) {{  // exchange rows; one changes its sign, so that the determinant stays
                    {scalar} other = {a("i", "j")};
                    {a("i", "j")} = {a("k", "j")};
                    {a("k", "j")} = -other;
                }}
            }}
        }}
        if ({a("k", "k")} == {zero}) {{
            return {zero};
        }}
        r *= {a("k", "k")};
        for (int i = k + 1; i < {n}; i++) {{
            {scalar} factor = {a("i", "k")} / {a("k", "k")};
            for (int j = k + 1; j < {n}; j++) {{
                {a("i", "j")} -= factor * {a("k", "j")};
            }}
        }}
    }}
    return r;"""


def inverse(target: str, matrix: Tensor, absolute: str) -> str:
    """Return the body of a function of `a`; a singular matrix gives infinities and nan."""
    n, scalar = matrix.shape[0], name_of(target, matrix.element)
    zero, one = (literals.literal(target, matrix.element, value).text for value in (0, 1))

    def a(row: str, column: str) -> str:
        return element_text(target, matrix, "a", (row, column))

    def r(row: str, column: str) -> str:
        return element_text(target, matrix, "r", (row, column))

    return f"""\
    {tensor_name(matrix)} r;
    for (int i = 0; i < {n}; i++) {{
        for (int j = 0; j < {n}; j++) {{
            {r("i", "j")} = i == j ? {one} : {zero};
        }}
    }}
    for (int k = 0; k < {n}; k++) {{
        for (int i = k + 1; i < {n}; i++) {{
            if ({absolute.format(a("i", "k"))} > {absolute.format(a("k", "k"))}) {{
                for (int j = 0; j < {n}; j++) {{
                    {scalar} other = {a("i", "j")};
                    {a("i", "j")} = {a("k", "j")};
                    {a("k", "j")} = other;
                    other = {r("i", "j")};
                    {r("i", "j")} = {r("k", "j")};
                    {r("k", "j")} = other;
                }}
            }}
        }}
        {scalar} pivot = {a("k", "k")};
        for (int j = 0; j < {n}; j++) {{
            {a("k", "j")} /= pivot;
            {r("k", "j")} /= pivot;
        }}
        for (int i = 0; i < {n}; i++) {{
            if (i != k) {{
                {scalar} factor = {a("i", "k")};
                for (int j = 0; j < {n}; j++) {{
                    {a("i", "j")} -= factor * {a("k", "j")};
                    {r("i", "j")} -= factor * {r("k", "j")};
                }}
            }}
        }}
    }}
    return r;"""
