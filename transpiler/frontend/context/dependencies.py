"""What a kernel depends on besides its source: objects read by a name or as a member, and capabilities of the target.

A cache compares these to find out whether the kernel is still the same."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType, ModuleType
from typing import Any

from ...errors import SourceLocation
from ...ir.captured_constant import CapturedConstant
from ...lang import struct as lang
from ...lang.describe import is_described
from ...lang.matrix import Matrix
from ...options import Capabilities
from .values import is_number

CapabilityRequirement = tuple[str, str, int | str]
"""Member of `Capabilities`, how it is compared ("at least", "at most", "has"), and with what."""


def is_satisfied(requirement: CapabilityRequirement, capabilities: Capabilities) -> bool:
    """Return whether a target satisfies a requirement of a kernel. An unknown limit counts as small enough."""
    name, relation, value = requirement
    actual: Any = getattr(capabilities, name)
    match relation:
        case "at least":
            return bool(actual >= value)
        case "at most":
            return actual is None or bool(actual <= value)
        case "has":
            return value in actual
    raise ValueError(f"unknown relation {relation!r} of a capability")


class Dependencies:
    """Everything that a build reads from outside the kernel.

    Attributes:
        objects: by identity; they live as long as this object.
        required_capabilities: what the kernel requires of a target, in order.
        captured: numbers, by the expression that reads them.
        names: what the program calls an array, by the array's identity.
        items: the same of those in a list or dict: `r_0` of `r[0]`.
        specific: values that another object or closure may have otherwise, by the expression that reads them: members
            of template arguments, variables of enclosing functions.
    """

    def __init__(self, capabilities: Capabilities) -> None:
        self.objects: dict[int, Any] = {}
        self.required_capabilities: dict[CapabilityRequirement, None] = {}
        self.captured: dict[str, CapturedConstant] = {}
        self.names: dict[int, str] = {}
        self.items: dict[int, str] = {}
        self.specific: dict[str, list[Any]] = {}
        self._owners: dict[int, Any] = {}
        self.capabilities = capabilities
        """For error messages only; code that builds the kernel calls `allows`, which records the requirement."""

    def allows(self, name: str, relation: str, value: int | str) -> bool:
        """Return whether the target satisfies a requirement, and record it: the kernel is the same for all that do."""
        requirement = name, relation, value
        self.required_capabilities[requirement] = None
        return is_satisfied(requirement, self.capabilities)

    def record(self, value: Any, path: str, name: str, read: Callable[[], Any], location: SourceLocation) -> None:
        """Record an object that was read.

        Args:
            value: the object.
            path: the expression in the user's source.
            name: the last part of the expression, which becomes the name of an array.
            read: returns the present value of a number.
            location: of the expression.
        """
        self.add(value)
        if is_number(value) or isinstance(value, (Matrix, lang.Struct)):
            self.captured[path] = CapturedConstant(value, read, location)
        elif is_described(value) or hasattr(type(value), "describe_domain"):
            self.names.setdefault(id(value), name)

    def record_specific(self, value: Any, path: str) -> None:
        """Record a value that another object or closure may have otherwise, and that its members may be so too."""
        self.add_owner(value)
        known = self.specific.setdefault(path, [])
        if not any(value is other for other in known):
            known.append(value)

    def add_owner(self, value: Any) -> None:
        """Let the members of an object be recorded as specific."""
        if id(value) in self._owners or isinstance(value, (ModuleType, type)):
            return
        self._owners[id(value)] = value
        if isinstance(value, (list, tuple, dict)):
            for item in value.values() if isinstance(value, dict) else value:
                self.add_owner(item)

    def is_owner(self, value: Any) -> bool:
        """Return whether the members of an object are specific."""
        return id(value) in self._owners

    def add(self, value: Any) -> None:
        """Add an object; of a method, which is a new object at each reading, its function too."""
        self.objects[id(value)] = value
        if isinstance(value, MethodType):
            self.objects[id(value.__func__)] = value.__func__
