"""The arguments of a call in the order of a kernel's parameters, with packs replaced by their members.

In: a kernel's definition. Out: `CallArguments`, with an error for every call that does not fit the parameters.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from ....transpiler.errors import TaichiSyntaxError
from ....transpiler.frontend.source.definition import KernelDefinition
from ....transpiler.lang.annotations import is_template
from ...close_names import close_names
from .packs import unpacker

NO_NAMES: Mapping[str, Any] = {}


class CallArguments:
    """How a kernel is called. unpack: replaces packs by their members, None if the kernel takes none."""

    def __init__(self, definition: KernelDefinition, is_method: bool) -> None:
        self._definition, self._is_method = definition, is_method
        self.unpack = unpacker(definition)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any] = NO_NAMES) -> tuple[Any, ...]:
        """Return a value for each parameter, defaults filled in. Raises: TaichiSyntaxError."""
        definition = self._definition
        names = [parameter.name for parameter in definition.parameters]
        self._check_count(args)
        for name in kwargs:
            if name not in names:
                message = f"Unexpected argument `{name}` of kernel `{definition.name}`"
                close = close_names(name, names)
                raise self._misuse(f"{message}, did you mean `{close[0]}`?" if close else message)
            if name in names[: len(args)]:
                raise self._misuse(f"Multiple values for argument `{name}` of kernel `{definition.name}`")
        values = list(args)
        for parameter in definition.parameters[len(args) :]:
            if parameter.name in kwargs:
                values.append(kwargs[parameter.name])
            elif parameter.default is not inspect.Parameter.empty:
                values.append(parameter.default)
            else:
                raise self._misuse(f"Missing argument `{parameter.name}` of kernel `{definition.name}`")
        return tuple(values)

    def complete(self, args: Sequence[Any]) -> tuple[Any, ...]:
        """Return a value for each flattened parameter; an annotation replaces a missing value if only its type matters.

        Raises: TaichiSyntaxError for a template argument that is missing, and for too many arguments.
        """
        self._check_count(args)
        values = list(args)
        for parameter in self._definition.parameters[len(args) :]:
            if is_template(parameter.annotation):
                raise TaichiSyntaxError(f"Missing argument `{parameter.name}` of kernel `{self._definition.name}`")
            values.append(parameter.annotation)
        return self.flatten_packs(values)

    def flattened(self, args: Sequence[Any], kwargs: Mapping[str, Any] = NO_NAMES) -> tuple[Any, ...]:
        """Return a value for each flattened parameter of a call. Raises: TaichiSyntaxError."""
        is_complete = not kwargs and len(args) == len(self._definition.parameters)
        return self.flatten_packs(args if is_complete else self.bind(args, kwargs))

    def flatten_packs(self, values: Sequence[Any]) -> tuple[Any, ...]:
        """Return the values of parameters with each pack replaced by its members."""
        return tuple(values) if self.unpack is None else self.unpack(values)

    def _check_count(self, args: Sequence[Any]) -> None:
        count = len(self._definition.parameters)
        if len(args) > count:
            raise self._misuse(f"Too many arguments: kernel `{self._definition.name}` takes {count}, found {len(args)}")

    def _misuse(self, message: str) -> TaichiSyntaxError:
        names = ", ".join(parameter.name for parameter in self._definition.parameters[self._is_method :])
        return TaichiSyntaxError(message, f"call it as `{self._definition.name}({names})`")
