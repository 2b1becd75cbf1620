"""Determinant and inverse of square matrices of 3 rows and more: bodies of generated functions.

Plain cofactors, which GLSL's own `determinant` and `inverse` use, lose digits with the square of the condition number
and beyond; these functions lose them with the condition number itself. 3x3: cofactors whose 2x2 determinants are exact
to the last digits, without a branch. Larger: elimination with the largest element of a column as the pivot. Rows are
exchanged element by element under a condition, not through a computed row number, so that a compiler that unrolls the
loops keeps small matrices in registers.
"""

from __future__ import annotations

from ....ir.types import Scalar, Tensor, f32, f64
from . import literals
from .language import Language
from .tensors import element_source, name_of, tensor_name

USUAL: dict[Scalar, tuple[float, float]] = {f32: (1e-4, 1e12), f64: (1e-50, 1e100)}
"""Sizes of the largest element between which a 3x3 matrix is inverted as it is: products of three are far from the ends
of the type. In C that is a branch, for which nothing waits: 2^14 matrices took a core .09 ms in place of .28 (gcc 12).
"""


def determinant(language: Language, matrix: Tensor, absolute: str) -> str:
    """Return the body of a function of `a`; `absolute` is the template of the absolute value of {0}."""
    return _determinant_3(language, matrix) if matrix.shape[0] == 3 else _determinant_n(language, matrix, absolute)


def inverse(language: Language, matrix: Tensor, absolute: str, at_least: str) -> str:
    """Return the body of a function of `a`, which returns infinities and nan for a singular matrix.

    at_least: the template of the greater of {0} and {1}, of which {1} is no NaN.
    """
    if matrix.shape[0] == 3:
        size = absolute.format(_element(language, matrix, "i", "j"))
        return _inverse_3(language, matrix, at_least.format(size, "largest"))
    return _inverse_n(language, matrix, absolute)


def unrolled(language: Language, matrix: Tensor, body: str) -> str:
    """Return a body with hints to unroll its loops: a Vulkan driver left 4 x 4 matrices in memory, and took an H200
    .175 ms to invert 2^20, where CUDA takes .036. gcc unrolls loops in loops once the outermost has a hint, and makes
    lanes of the iterations that call the function: 60,000 inverses took a core 6.1 ms, and take .53 (gcc 12, Zen 4).
    """
    if matrix.shape[0] != 4:
        return body
    if language.unroll_helpers:
        return body.replace("for (int", f"{language.unroll}for (int")
    hint = language.unroll.format(count=4) if language.unrolled else ""
    return body.replace("    for (int k", f"    {hint}    for (int k") if hint else body


def _element(language: Language, matrix: Tensor, row: int | str, column: int | str, name: str = "a") -> str:
    return element_source(language, matrix, name, (row, column))


def _cofactor(language: Language, matrix: Tensor, row: int, column: int) -> str:
    """Return the cofactor of a 3x3 matrix: with rows and columns taken in a cycle the sign is always plus."""
    (i, k), (j, m) = ((row + 1) % 3, (row + 2) % 3), ((column + 1) % 3, (column + 2) % 3)
    factors = [_element(language, matrix, *position) for position in ((i, j), (k, m), (i, m), (k, j))]
    return f"cross_{matrix.element}({', '.join(factors)})"


def _determinant_3(language: Language, matrix: Tensor) -> str:
    terms = [f"{_element(language, matrix, 0, k)} * {_cofactor(language, matrix, 0, k)}" for k in range(3)]
    return "    return " + "\n        + ".join(terms) + ";"


def _inverse_3(language: Language, matrix: Tensor, larger: str) -> str:
    scalar = name_of(language, matrix.element)
    zero, one = (literals.literal(language, matrix.element, value).template for value in (0, 1))
    a, r = _element(language, matrix, "i", "j"), _element(language, matrix, "i", "j", "r")
    cofactors = "\n".join(
        f"    {_element(language, matrix, i, j, 'r')} = {_cofactor(language, matrix, j, i)};"
        for i in range(3)
        for j in range(3)
    )
    row = " + ".join(f"{_element(language, matrix, 0, k)} * {_element(language, matrix, k, 0, 'r')}" for k in range(3))
    scale = f"{one} / largest"
    if matrix.element in USUAL:
        least, most = (literals.literal(language, matrix.element, value).template for value in USUAL[matrix.element])
        scale = f"largest > {least} && largest < {most} ? {one} : {scale}"
    return f"""\
    {scalar} largest = {zero};  // scaled to 1 if products might overflow
    for (int i = 0; i < 3; i++) {{
        for (int j = 0; j < 3; j++) {{
            largest = {larger};
        }}
    }}
    {scalar} scale = {scale};
    for (int i = 0; i < 3; i++) {{
        for (int j = 0; j < 3; j++) {{
            {a} *= scale;
        }}
    }}
    {tensor_name(matrix)} r;
{cofactors}
    {scalar} factor = scale / ({row});
    for (int i = 0; i < 3; i++) {{
        for (int j = 0; j < 3; j++) {{
            {r} *= factor;
        }}
    }}
    return r;"""


def _determinant_n(language: Language, matrix: Tensor, absolute: str) -> str:
    n, scalar = matrix.shape[0], name_of(language, matrix.element)
    zero, one = (literals.literal(language, matrix.element, value).template for value in (0, 1))

    def a(row: str, column: str) -> str:
        return _element(language, matrix, row, column)

    return f"""\
    {scalar} r = {one};
    for (int k = 0; k < {n}; k++) {{
        for (int i = k + 1; i < {n}; i++) {{
            if ({absolute.format(a("i", "k"))} > {absolute.format(a("k", "k"))}) {{
                for (int j = k; j < {n}; j++) {{  // exchange rows; one is negated, so that the determinant is unchanged
                    {scalar} other = {a("i", "j")};
                    {a("i", "j")} = {a("k", "j")};
                    {a("k", "j")} = -other;
                }}
            }}
        }}
        r *= {a("k", "k")};
        for (int i = k + 1; i < {n}; i++) {{
            {scalar} factor = {a("i", "k")} / {a("k", "k")};
            for (int j = k + 1; j < {n}; j++) {{
                {a("i", "j")} -= factor * {a("k", "j")};
            }}
        }}
    }}
    for (int i = 0; i < {n}; i++) {{  // at the end, since a return in the loop keeps compilers from vectors
        r = {a("i", "i")} == {zero} ? {zero} : r;
    }}
    return r;"""


def _inverse_n(language: Language, matrix: Tensor, absolute: str) -> str:
    n, scalar = matrix.shape[0], name_of(language, matrix.element)
    zero, one = (literals.literal(language, matrix.element, value).template for value in (0, 1))

    def a(row: str, column: str) -> str:
        return _element(language, matrix, row, column)

    def r(row: str, column: str) -> str:
        return _element(language, matrix, row, column, "r")

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
