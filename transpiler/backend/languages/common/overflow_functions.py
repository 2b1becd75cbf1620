"""Overflow tests for `sum`, `dot`, `cross`, `@` and `outer_product` of integers: bodies of generated functions.

Each follows its operation step by step and returns true at the first product or sum that overflows; it does not
continue after that, since signed overflow is undefined in C and CUDA.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ....ir.types import Scalar, Tensor
from . import literals
from .language import Language
from .syntax_forms import Syntax
from .tensors import element_source, element_syntax, name_of

Loop = tuple[str, int]
"""Index and extent."""


class Steps:
    """Generates steps on numbers of one type. multiply: the language's syntax; keys: helpers of element accesses."""

    def __init__(self, language: Language, scalar: Scalar, multiply: Syntax) -> None:
        self.language = language
        self.scalar = scalar
        self.multiply = multiply
        self.keys: list[str] = []

    def sum(self, a: Tensor) -> str:
        """Return the body for the sum of `a`."""
        loops = tuple(zip("ij", a.shape, strict=False))
        term = self._element(a, "a", [index for index, _ in loops])
        return self._body([self._start(), *_nested(loops, self._add(term))])

    def dot(self, a: Tensor, b: Tensor) -> str:
        """Return the body for the product of two vectors."""
        lines = self._multiply(self._element(a, "a", ["i"]), self._element(b, "b", ["i"]))
        return self._body([self._start(), *_nested([("i", a.size)], [*lines, *self._add("product")])])

    def matmul(self, a: Tensor, b: Tensor) -> str:
        """Return the body for the product of a matrix and a matrix or vector."""
        right = ["k", "j"][: len(b.shape)]
        lines = self._multiply(self._element(a, "a", ["i", "k"]), self._element(b, "b", right))
        inner = _nested([("k", a.shape[1])], [*lines, *self._add("product")])
        outer = [("i", a.shape[0]), ("j", b.shape[-1])][: len(b.shape)]
        return self._body(_nested(outer, [self._start(), *inner]))

    def outer(self, a: Tensor, b: Tensor) -> str:
        """Return the body for the outer product."""
        left, right = self._element(a, "a", ["i"]), self._element(b, "b", ["j"])
        test = _return_if(f"mul_overflows_{self.scalar}({left}, {right})")
        return self._body(_nested([("i", a.size), ("j", b.size)], test))

    def cross(self, a: Tensor, b: Tensor) -> str:
        """Return the body for the cross product, all in one condition."""
        tests: list[str] = []
        for p, q in ((1, 2), (2, 0), (0, 1)):
            factors = [
                (element_source(self.language, a, "a", (m,)), element_source(self.language, b, "b", (n,)))
                for m, n in ((p, q), (q, p))
            ]
            tests += [f"mul_overflows_{self.scalar}({x}, {y})" for x, y in factors]
            products = ", ".join(self.multiply.format(x, y) for x, y in factors)
            tests.append(f"sub_overflows_{self.scalar}({products})")
        return "    return " + "\n        || ".join(tests) + ";"

    def _start(self) -> str:
        zero = literals.literal(self.language, self.scalar, 0).template
        return f"{name_of(self.language, self.scalar)} sum = {zero};"

    def _multiply(self, left: str, right: str) -> list[str]:
        product = f"{name_of(self.language, self.scalar)} product = {self.multiply.format(left, right)};"
        return [*_return_if(f"mul_overflows_{self.scalar}({left}, {right})"), product]

    def _add(self, term: str) -> list[str]:
        return [*_return_if(f"add_overflows_{self.scalar}(sum, {term})"), f"sum += {term};"]

    def _element(self, tensor: Tensor, name: str, indices: Sequence[str]) -> str:
        syntax = element_syntax(self.language, tensor, indices, False)
        self.keys += syntax.helpers
        return syntax.format(name)

    def _body(self, lines: Sequence[str]) -> str:
        return "\n".join(f"    {line}" for line in (*lines, "return false;"))


def _return_if(condition: str) -> list[str]:
    return [f"if ({condition}) {{", "    return true;", "}"]


def _nested(loops: Sequence[Loop], lines: Sequence[str]) -> list[str]:
    """Return `lines` inside loops, the first outermost."""
    for index, extent in reversed(loops):
        head = f"for (int {index} = 0; {index} < {extent}; {index}++) {{"
        lines = [head, *(f"    {line}" for line in lines), "}"]
    return list(lines)


BODIES: dict[str, Callable[..., str]] = {
    "sum_overflows": Steps.sum,
    "dot_overflows": Steps.dot,
    "cross_overflows": Steps.cross,
    "matmul_overflows": Steps.matmul,
    "outer_product_overflows": Steps.outer,
}
"""Operation -> method that generates its test of the tensors `a` and `b`."""
