"""From a call's arguments to what a launch passes: the members of packs in the packs' places.

In: a kernel's definition. Out: a function of the arguments, written once as Python text made of names of members, so
that a launch reads each member in the shortest way; None where no parameter is a pack.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ....transpiler.errors import TaichiRuntimeTypeError
from ....transpiler.frontend.source.definition import KernelDefinition, ParameterDefinition
from ....transpiler.lang.packs import flattened_members, members_of

Unpack = Callable[[Sequence[Any]], tuple[Any, ...]]


def unpacker(definition: KernelDefinition) -> Unpack | None:
    """Return what turns a kernel's arguments into its leaves, None where they are the same."""
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
                leaf
                for position, (parameter, value) in enumerate(zip(definition.parameters, args, strict=True))
                for leaf in _leaves(definition, position, parameter, value)
            )

    return unpack


def _leaves(definition: KernelDefinition, position: int, parameter: ParameterDefinition, value: Any) -> list[Any]:
    """Return the leaves of one argument; the annotation itself may stand for a value whose type alone matters.

    Raises: TaichiRuntimeTypeError where a member is missing.
    """
    found = []
    for path, annotation in flattened_members(parameter.annotation):
        if value is parameter.annotation:
            found.append(annotation)
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
        found.append(member)
    return found


def _shown(annotation: Any) -> str:
    return f"a {annotation.__name__}" if isinstance(annotation, type) else repr(annotation)
