"""Which Python objects a kernel reads by a name or as a member, for who wants to know that it read nothing else."""

from __future__ import annotations

from types import MethodType
from typing import Any


class Reads:
    """objects: by identity; they live as long as this does."""

    def __init__(self) -> None:
        self.objects: dict[int, Any] = {}

    def add(self, value: Any) -> None:
        """Note an object; of a method, which is made anew with each reading, its function too."""
        self.objects[id(value)] = value
        if isinstance(value, MethodType):
            self.objects[id(value.__func__)] = value.__func__
