"""What a kernel reads beside its text: objects by a name or as a member, for who wants to know that it read nothing
else, and what its target can do."""

from __future__ import annotations

from types import MethodType
from typing import Any

from ...options import Capabilities

Need = tuple[str, str, int | str]
"""Member of `Capabilities`, how it is compared ("at least", "at most", "has"), and with what."""


def is_met(need: Need, capabilities: Capabilities) -> bool:
    """Tell whether a target has what a kernel needs. What is not known of it counts as small enough."""
    name, relation, value = need
    there: Any = getattr(capabilities, name)
    match relation:
        case "at least":
            return bool(there >= value)
        case "at most":
            return there is None or bool(there <= value)
        case "has":
            return value in there
    raise ValueError(f"a need {relation!r}")


class Reads:
    """objects: by identity; they live as long as this does. needs: what the kernel needs of a target, in order."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.objects: dict[int, Any] = {}
        self.needs: dict[Need, None] = {}
        self.capabilities = capabilities
        """For the words of errors only; what a kernel becomes must not depend on them, as `allows` does not."""

    def allows(self, name: str, relation: str, value: int | str) -> bool:
        """Tell whether the target has what is needed, and note it: the kernel is the same for all targets that do."""
        need = name, relation, value
        self.needs[need] = None
        return is_met(need, self.capabilities)

    def add(self, value: Any) -> None:
        """Note an object; of a method, which is made anew with each reading, its function too."""
        self.objects[id(value)] = value
        if isinstance(value, MethodType):
            self.objects[id(value.__func__)] = value.__func__
