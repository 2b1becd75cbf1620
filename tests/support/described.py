"""Arrays for tests that only compile: objects that say what they are and have no memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from shadesmith.transpiler.lang.describe import ArrayDescription


@dataclass(eq=False)
class Described:
    """An array that a kernel captures. description: what it says of itself."""

    description: ArrayDescription

    def describe_array(self) -> ArrayDescription:
        """Return the description, as fields and ndarrays do."""
        return self.description


def described(*arguments: Any, **named: Any) -> Described:
    """Return an array; takes what `ArrayDescription` takes."""
    return Described(ArrayDescription(*arguments, **named))
