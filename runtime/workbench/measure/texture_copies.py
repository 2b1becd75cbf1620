"""Copies of the textures of a call, on which any source of the kernel can run.

In: the texture arguments of one call. Out: `Seen`, each texture with its texels as they were; `TextureCopies`, textures
of equal kind that a program uses in their place. A texture given twice is copied once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import BackendModule, Member, TextureBinding
from ...arrays.memory import Array, bytes_of
from ...arrays.texture import Texture
from ...session.allocation_handle import AllocationHandle
from .values import Values

if TYPE_CHECKING:
    from ...session.session import Session


@dataclass(frozen=True, slots=True)
class Seen:
    """A texture argument. contents: its texels, packed."""

    slot: TextureBinding
    texture: Texture
    contents: Array


def textures_of(module: BackendModule, args: Sequence[Any]) -> tuple[Seen, ...]:
    """Return the textures of a call, with a copy of their texels."""
    given = [(slot, args[slot.parameter]) for slot in module.interface.textures]
    contents = {id(texture): texture.read_packed() for _, texture in given}
    return tuple(Seen(slot, texture, contents[id(texture)]) for slot, texture in given)


class TextureCopies:
    """Textures like those of a call, by slot."""

    def __init__(self, session: Session, seen: Sequence[Seen]) -> None:
        self._session, self._seen = session, seen
        self._copies: dict[int, Texture] = {}
        self._originals: dict[int, AllocationHandle] = {}
        for found in seen:
            texture = found.texture
            if id(texture) not in self._copies:
                self._copies[id(texture)] = texture.empty_like()
                handle = AllocationHandle(session, texture.spec.size_bytes, f"a copy of `{found.slot.name}`")
                session.device.write(handle.allocation, bytes_of(found.contents))
                self._originals[id(texture)] = handle

    def _by_slot(self) -> list[Texture]:
        return [self._copies[id(found.texture)] for found in self._seen]

    def fill(self, only_written: bool = False) -> None:
        """Give the copies their texels, in order with launches and without waiting."""
        for found in self._seen:
            if found.slot.written or not only_written:
                identity = id(found.texture)
                original = self._originals[identity].allocation
                self._session.device.copy_to_texture(original, self._copies[identity].memory)

    def point(self, packed: bytearray, members: Sequence[Member]) -> None:
        """Let packed arguments name the copies."""
        by_slot = self._by_slot()
        for member in members:
            if member.source[0] in ("texture", "texels"):
                memory, slot = by_slot[member.source[1]].memory, self._seen[member.source[1]].slot
                numbers = {"texels": memory.texels, "texture": memory.storage if slot.storage else memory.sampled}
                struct.pack_into("<Q", packed, member.offset_bytes, numbers[member.source[0]])

    def use(self, program: Any) -> None:
        """Let a program use the copies, where it finds textures otherwise than by its arguments."""
        if self._seen and hasattr(program, "use_textures"):
            with program.lock or nullcontext():
                program.use_textures([texture.memory for texture in self._by_slot()])

    def values(self) -> Iterator[Values]:
        """Yield what is in the copies now."""
        for found, copy in zip(self._seen, self._by_slot(), strict=True):
            texels = copy.to_numpy()
            name, type = found.slot.name, copy.spec.format.channel.name
            yield Values(name, texels, copy.shape, is_written=found.slot.written, type=type)
