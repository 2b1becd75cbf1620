"""Flattening of argument packs: a launch passes the members of a pack instead of the pack.

In: a kernel's definition. Out: a function of the arguments, generated once as Python source from names of members, so
that a launch reads each member in the fastest way; None if no parameter is a pack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....transpiler.errors import TaichiRuntimeTypeError
from ....transpiler.frontend.source.definition import KernelDefinition, ParameterDefinition
from ....transpiler.lang.packs import flattened_members, members_of

Unpack = Callable[[Sequence[Any]], tuple[Any, ...]]


def unpacker(definition: KernelDefinition) -> Unpack | None:
    """Return the function that flattens a kernel's arguments, None if it takes no packs."""
    if not any(parameter.path for parameter in definition.flat_parameters):
        return None
    items = (
        ".".join((f"args[{position}]", *path))
        for position, parameter in enumerate(definition.parameters)
        for path, _ in flattened_members(parameter.annotation)
    )
    # Members of dataclasses are identifiers, and so are those of packs (`ArgPackType` refuses others).
    fast: Unpack = eval(f"lambda args: ({', '.join(items)},)")  # noqa: S307

    def unpack(args: Sequence[Any]) -> tuple[Any, ...]:
        try:
            return fast(args)
        except AttributeError:
            return tuple(
                member
                for position, (parameter, value) in enumerate(zip(definition.parameters, args, strict=True))
                for member in _members(definition, position, parameter, value)
            )

    return unpack


def _members(definition: KernelDefinition, position: int, parameter: ParameterDefinition, value: Any) -> list[Any]:
    """Return the flattened members of one argument; the annotation itself may replace a value if only the type matters.

    Raises: TaichiRuntimeTypeError if a member is missing.
    """
    members = []
    for path, annotation in flattened_members(parameter.annotation):
        if value is parameter.annotation:
            members.append(annotation)
            continue
        member = value
        for name in path:
            if not hasattr(member, name):
                where = f"Argument {position} (`{parameter.name}` of kernel `{definition.name}`)"
                given = f"a {type(value).__name__} without `{'.'.join(path)}`"
                raise TaichiRuntimeTypeError(
                    f"{where} takes {_shown(parameter.annotation)}, and {given} was given",
                    f"give it the members {', '.join(members_of(parameter.annotation) or ())}",
                )
            member = getattr(member, name)
        members.append(member)
    return members


def _shown(annotation: Any) -> str:
    return f"a {annotation.__name__}" if isinstance(annotation, type) else repr(annotation)
