"""What a kernel reads beside its text: objects by a name or as a member, for who wants to know that it read nothing
else, and what its target can do."""

from __future__ import annotations

from types import MethodType
from typing import Any

from ..options import Capabilities


class Reads:
    """objects: by identity; they live as long as this does. capabilities: of the target, with what they were."""

    def __init__(self, capabilities: Capabilities) -> None:
        self.objects: dict[int, Any] = {}
        self.capabilities: dict[str, Any] = {}
        self._capabilities = capabilities

    def capability(self, name: str) -> Any:
        """Return what the target can do. Nobody else looks at that: most kernels are the same for all targets."""
        answer = self.capabilities[name] = getattr(self._capabilities, name)
        return answer

    def add(self, value: Any) -> None:
        """Note an object; of a method, which is made anew with each reading, its function too."""
        self.objects[id(value)] = value
        if isinstance(value, MethodType):
            self.objects[id(value.__func__)] = value.__func__
