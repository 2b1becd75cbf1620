"""Our version, and the version of Taichi whose programs run here.

In: what a program compares `ti.__version__` with, and `require_version` of `ti.init`. Out: `VERSION`, `check_version`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ...transpiler import options
from ...transpiler.errors import TaichiRuntimeError

COMPATIBLE_VERSION = (1, 7, 4)
"""The version of Taichi whose programs run here; `require_version` is compared with it."""


class Version(str):
    """A version as a string, which compares with a tuple and has elements as Taichi's version, a tuple, does.

    Programs for Taichi ask `ti.__version__ >= (1, 4, 0)` or `ti.__version__[0]`; they mean Taichi's level.
    """

    __slots__ = ()
    __hash__ = str.__hash__

    def __getitem__(self, index: Any) -> Any:
        return COMPATIBLE_VERSION[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(COMPATIBLE_VERSION)

    def __eq__(self, other: object) -> bool:
        return other == COMPATIBLE_VERSION if isinstance(other, tuple) else str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __lt__(self, other: Any) -> bool:
        return other > COMPATIBLE_VERSION if isinstance(other, tuple) else str.__lt__(self, other)

    def __le__(self, other: Any) -> bool:
        return other >= COMPATIBLE_VERSION if isinstance(other, tuple) else str.__le__(self, other)

    def __gt__(self, other: Any) -> bool:
        return other < COMPATIBLE_VERSION if isinstance(other, tuple) else str.__gt__(self, other)

    def __ge__(self, other: Any) -> bool:
        return other <= COMPATIBLE_VERSION if isinstance(other, tuple) else str.__ge__(self, other)


VERSION = Version(options.VERSION)
"""Our version."""


def check_version(required: str) -> None:
    """Check that programs for Taichi `required` run here. Raises: TaichiRuntimeError if they need a newer version."""
    parts = required.split(".")
    if len(parts) < 2 or not all(part.isdigit() for part in parts[:2]):
        raise TaichiRuntimeError(
            "The require_version should be formatted following PEP 440, and includes major, minor, and patch number, "
            f"e.g., major.minor.patch; `{required}` was given"
        )
    numbers = tuple(int(part) if part.isdigit() else 0 for part in parts[:3])
    if numbers > COMPATIBLE_VERSION:
        installed = ".".join(map(str, COMPATIBLE_VERSION))
        raise TaichiRuntimeError(
            f"Taichi version mismatch. Required version >= {required}, installed version = {installed} "
            "(the Taichi whose programs shadesmith runs)."
        )
