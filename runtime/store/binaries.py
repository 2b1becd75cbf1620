"""The binary stage: a source is compiled once by the same compiler with the same flags.

In: what determines a binary (`Request`) and the function that compiles it. Out: the binary, from the store if possible.
All compilers are called through this module: glslang, NVRTC and the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ...transpiler.backend.module.interface import SourceFile
from ...transpiler.lazy_dataclasses import dataclass
from .stats import COUNTS
from .store import Store
from .strip_comments import other_dependency, strip_comments

Binaries = Mapping[str, bytes]
"""The files that a compiler made, by name."""


@dataclass(frozen=True, slots=True)
class Request:
    """What determines a binary.

    tool: the compiler's name.
    identity: identifies the compiler's version and files.
    settings: flags, and other settings with an effect on the binary.
    exact: comments and line numbers of the source are part of the binary, as in debug information.
    """

    tool: str
    identity: str
    settings: tuple[str, ...]
    file: SourceFile
    exact: bool = False

    def material(self) -> bytes:
        """Return all of it as bytes; requests for different binaries have different bytes."""
        source = f"{self.file.name}\n{self.file.text}" if self.exact else strip_comments(self.file.text)
        pieces = [self.tool, self.identity, *self.settings, source]
        return b"\0".join(b"%d:%s" % (len(data), data) for data in (piece.encode() for piece in pieces))


def find_or_make(
    store: Store | None,
    request: Callable[[], Request],
    make: Callable[[], Binaries],
    is_right: Callable[[Binaries], bool] = bool,
    anew: bool = False,
) -> Binaries:
    """Return the stored binaries, or make and store them.

    store: None disables the cache.
    request: called only if there is a store.
    make: runs the compiler.
    is_right: checks stored binaries once more, since drivers crash on damaged ones.
    anew: compile even if there are stored binaries.
    Raises: what `make` raises.
    """
    if store is None:
        return _compile(make)
    key = request()
    reason = other_dependency(key.file.text)
    if reason:
        COUNTS.miss("binary", key.file.name, reason)
        return _compile(make)
    material = key.material()
    found = None if anew else _find(store, key, material, is_right)
    if found is not None:
        return found
    with store.making("binary", material) as others_came_first:
        found = _find(store, key, material, is_right) if others_came_first and not anew else None
        if found is not None:
            return found
        binaries = _compile(make)
        store.put("binary", material, {"tool": key.tool}, binaries, key.file.name)
    return binaries


def _find(store: Store, key: Request, material: bytes, is_right: Callable[[Binaries], bool]) -> Binaries | None:
    entry = store.get("binary", material, key.file.name)
    if entry is not None and is_right(entry.parts):
        return entry.parts
    if entry is not None:
        COUNTS.miss("binary", key.file.name, "found, but it is no valid output of a compiler")
    return None


def _compile(make: Callable[[], Binaries]) -> Binaries:
    with COUNTS.compiler_time():
        return make()
