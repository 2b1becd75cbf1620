"""Functions with cached results (`functools.cache`): whether a result may be older than the data it was computed from.

In: such a function. Out: whether it, or a function that it calls, reads data of the program besides its arguments.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

from .function_source import bytecode_of

CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
"""Objects that programs rarely change, unlike numbers and other objects."""


def reads_data(cached: Any) -> bool:
    """Return whether results may depend on more than arguments and code."""
    waiting, seen = [cached.__wrapped__], set[int]()
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if not isinstance(function, types.FunctionType) or function.__closure__:
            return True
        for name in bytecode_of(function).outer:
            value = function.__globals__.get(name, vars(builtins).get(name, len))
            value = getattr(value, "__wrapped__", value)
            if not isinstance(value, CODE):
                return True
            if isinstance(value, types.FunctionType):
                waiting.append(value)
    return False
