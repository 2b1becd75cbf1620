"""The binary stage: a text that was compiled before, by the same compiler with the same flags, is not compiled again.

In: what decides a binary (`Request`) and the function that makes it. Out: the binary, from the store where it is there.
All compilers come here: glslang, NVRTC and the host's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...transpiler.backend.module.interface import SourceFile
from .stats import COUNTS
from .store import Store
from .strip_comments import other_dependency, strip_comments

Binaries = Mapping[str, bytes]
"""What a compiler made, by name."""


@dataclass(frozen=True, slots=True)
class Request:
    """What decides a binary. tool: its name; identity: which one it is exactly; settings: flags and what acts as one.

    exact: comments and lines of the text are part of the binary, as in debug information.
    """

    tool: str
    identity: str
    settings: tuple[str, ...]
    file: SourceFile
    exact: bool = False

    def material(self) -> bytes:
        """Return all of it as bytes; no two requests for different binaries have the same."""
        text = f"{self.file.name}\n{self.file.text}" if self.exact else strip_comments(self.file.text)
        pieces = [self.tool, self.identity, *self.settings, text]
        return b"\0".join(b"%d:%s" % (len(data), data) for data in (piece.encode() for piece in pieces))


def find_or_make(
    store: Store | None,
    request: Callable[[], Request],
    make: Callable[[], Binaries],
    is_right: Callable[[Binaries], bool] = bool,
    anew: bool = False,
) -> Binaries:
    """Return what the store has, or make it and keep it.

    store: None: nothing is kept. request: asked for only where there is a store. make: runs the compiler. is_right: a
    last look at what was found, for drivers crash on what is damaged. anew: make it in any case.
    Raises: what `make` raises.
    """
    if store is None:
        return _made(make)
    wanted = request()
    reason = other_dependency(wanted.file.text)
    if reason:
        COUNTS.miss("binary", wanted.file.name, reason)
        return _made(make)
    material = wanted.material()
    if not anew:
        entry = store.get("binary", material, wanted.file.name)
        if entry is not None and is_right(entry.parts):
            return entry.parts
        if entry is not None:
            COUNTS.miss("binary", wanted.file.name, "found, but it is not what a compiler makes")
    made = _made(make)
    store.put("binary", material, {"tool": wanted.tool}, made, wanted.file.name)
    return made


def _made(make: Callable[[], Binaries]) -> Binaries:
    with COUNTS.compiler_time():
        return make()
