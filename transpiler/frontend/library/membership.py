"""`x in container` with a run-time side: comparisons with each item, or with the ends of a range.

n in (2, 3)        ->    n == 2 or n == 3
n in range(9)      ->    n >= 0 and n <= 8
"""

from __future__ import annotations

import ast
from typing import Any

from ...errors import TaichiSyntaxError
from ...ir.nodes import Statement
from ...ir.types import Tensor
from ...lang.matrix import Matrix
from ..context.context import Context
from ..context.iteration import compile_time_items
from ..context.values import holds_runtime, is_number
from .operators import BINARY, COMPARE, binary, compare, logical


def is_member(context: Context, value: Any, container: Any) -> Any:
    """Return whether `value` is one of the items. Raises: TaichiSyntaxError if the items are unknown."""
    if isinstance(container, range):
        return _is_in_range(context, value, container)
    if isinstance(container, (set, frozenset)):  # an order that is equal in every process
        container = sorted(container) if all(is_number(item) for item in container) else None
    elif isinstance(container, Matrix) or (isinstance(container, Statement) and isinstance(container.type, Tensor)):
        container = compile_time_items(context, container)
    if not isinstance(container, (list, tuple, dict)):
        raise context.error(
            TaichiSyntaxError, '"In" is only supported inside `ti.static`.', "use a tuple: `x in (1, 2)`"
        )
    result: Any = False
    for item in container:
        equal = compare(context, COMPARE[ast.Eq], value, item)
        if not holds_runtime(equal):
            if equal:
                return True
        else:
            result = equal if result is False else logical(context, "or", result, equal)
    return result


def _is_in_range(context: Context, value: Any, numbers: range) -> Any:
    """Return whether a number is between the ends of a range and on one of its steps."""
    if not numbers:
        return False
    low, high = sorted((numbers[0], numbers[-1]))
    above = compare(context, COMPARE[ast.GtE], value, low)
    within = logical(context, "and", above, compare(context, COMPARE[ast.LtE], value, high))
    if abs(numbers.step) == 1:
        return within
    distance = binary(context, BINARY[ast.Sub], value, low)
    remainder = binary(context, BINARY[ast.Mod], distance, abs(numbers.step))
    return logical(context, "and", within, compare(context, COMPARE[ast.Eq], remainder, 0))
