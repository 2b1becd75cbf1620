"""What a kernel depends on besides its source: objects read by a name or as a member, and what the target can do.

A cache compares these to know that the kernel has not changed."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

from ...errors import SourceLocation
from ...ir.captured import Captured
from ...lang import struct as lang
from ...lang.describe import is_described
from ...lang.matrix import Matrix
from ...options import Capabilities
from .values import is_number

Need = tuple[str, str, int | str]
"""Member of `Capabilities`, how it is compared ("at least", "at most", "has"), and with what."""


def is_met(need: Need, capabilities: Capabilities) -> bool:
    """Return whether a target has what a kernel needs. What is not known of it counts as small enough."""
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
    """Everything that a build reads from outside the kernel.

    objects: by identity; they live as long as this does. needs: what the kernel needs of a target, in order. captured:
    numbers by the expression that reads them. names: what the program calls an array, by the array's identity.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self.objects: dict[int, Any] = {}
        self.needs: dict[Need, None] = {}
        self.captured: dict[str, Captured] = {}
        self.names: dict[int, str] = {}
        self.capabilities = capabilities
        """For error messages only; what a kernel becomes must not depend on them, as `allows` does not."""

    def allows(self, name: str, relation: str, value: int | str) -> bool:
        """Return whether the target has what is needed, and note it: the kernel is the same for all targets that do."""
        need = name, relation, value
        self.needs[need] = None
        return is_met(need, self.capabilities)

    def note(self, value: Any, path: str, name: str, read: Callable[[], Any], location: SourceLocation) -> None:
        """Record an object that was read, with how to read a number anew, and what the program calls an array.

        path: the expression as written. name: its last part.
        """
        self.add(value)
        if is_number(value) or isinstance(value, Matrix | lang.Struct):
            self.captured[path] = Captured(value, read, location)
        elif is_described(value) or hasattr(type(value), "describe_domain"):
            self.names.setdefault(id(value), name)

    def add(self, value: Any) -> None:
        """Note an object; of a method, which is made anew with each reading, its function too."""
        self.objects[id(value)] = value
        if isinstance(value, MethodType):
            self.objects[id(value.__func__)] = value.__func__
