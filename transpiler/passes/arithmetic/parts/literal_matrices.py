"""Matrices with literal zeros, which `lean_products` and `literal_products` look for."""

from __future__ import annotations

from collections.abc import Sequence

from ....ir.nodes import Statement
from ....ir.statements import is_const

FEWEST_ZEROS = 0.25
"""The smallest share of zeros among the elements of a matrix that is worth it."""


def has_many_zeros(elements: Sequence[Statement]) -> bool:
    """Return whether many elements of a matrix are literal zeros."""
    return bool(elements) and sum(is_const(element, 0) for element in elements) >= FEWEST_ZEROS * len(elements)
