"""Functions that keep their results (`functools.cache`): whether a kept result may be older than what it was made of.

In: such a function. Out: whether it, or a function that it calls, reads data of the program beside its arguments.
"""

from __future__ import annotations

import builtins
import types
from typing import Any

from .function_source import code_of

CODE = (types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type)
"""What programs do not change, as a rule; numbers and objects they do."""


def reads_data(cached: Any) -> bool:
    """Tell whether results may depend on more than arguments and code."""
    waiting, seen = [cached.__wrapped__], set[int]()
    while waiting:
        function = waiting.pop()
        if id(function) in seen:
            continue
        seen.add(id(function))
        if not isinstance(function, types.FunctionType) or function.__closure__:
            return True
        for name in code_of(function).outer:
            value = function.__globals__.get(name, vars(builtins).get(name, len))
            value = getattr(value, "__wrapped__", value)
            if not isinstance(value, CODE):
                return True
            if isinstance(value, types.FunctionType):
                waiting.append(value)
    return False
