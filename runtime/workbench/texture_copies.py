"""Copies of the textures that a launch reaches, in which any text of the kernel can run.

In: the arguments of one call. Out: `TextureUse`, a texture with its texels as they are now, and `TextureCopies`, where
launches run instead. What the user owns is read once, and never written. A texture has no guard zones: hardware keeps
who reads or writes outside of it.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..holds import Hold
from ..memory import Array
from ..session import Session
from ..texture import Texture

if TYPE_CHECKING:
    from ...transpiler.backend.interface import Interface


@dataclass(eq=False, slots=True)
class TextureUse:
    """A texture of a call. slots: where it is given. texels: as `Texture.to_numpy` gives them."""

    texture: Texture
    slots: tuple[int, ...]
    names: tuple[str, ...]
    texels: Array
    is_read: bool
    is_written: bool

    @property
    def name(self) -> str:
        """What the kernel calls it, by all its names."""
        return ", ".join(self.names)


def textures_of(interface: Interface, args: Sequence[Any]) -> tuple[TextureUse, ...]:
    """Return the textures of a call, each once, with their texels."""
    given: dict[int, list[int]] = {}
    for number, slot in enumerate(interface.textures):
        given.setdefault(id(args[slot.parameter]), []).append(number)
    uses = []
    for slots in given.values():
        own = [interface.textures[slot] for slot in slots]
        texture: Texture = args[own[0].parameter]
        uses.append(
            TextureUse(
                texture,
                tuple(slots),
                tuple(slot.name for slot in own),
                texture.to_numpy(),
                any(slot.read for slot in own),
                any(slot.written for slot in own),
            )
        )
    return tuple(uses)


class TextureCopies:
    """Copies of the textures of a call."""

    def __init__(self, uses: Sequence[TextureUse]) -> None:
        self._uses = uses
        self._copies: dict[TextureUse, Texture] = {}

    def fill(self, packed: bytearray, interface: Interface) -> None:
        """Give the copies the texels of the call, and lead packed arguments to them."""
        for use in self._uses:
            own = use.texture
            copy = self._copies.get(use)
            if copy is None:
                copy = self._copies[use] = Texture(own.fmt, own.shape, filter=own.filter, address=own.address)
            copy.from_numpy(use.texels)
            for member in interface.members:
                if member.source[0] in ("texture", "texels") and member.source[1] in use.slots:
                    storage = interface.textures[member.source[1]].storage
                    kind = "texels" if member.source[0] == "texels" else "storage" if storage else "sampled"
                    struct.pack_into("<Q", packed, member.offset_bytes, getattr(copy.memory, kind))

    def give_to(self, program: Any) -> None:
        """Tell a program that finds textures otherwise than by its arguments which it is for."""
        if self._uses and getattr(program, "use_textures", None) is not None:
            by_slot = sorted((slot, self._copies[use].memory) for use in self._uses for slot in use.slots)
            program.use_textures(tuple(memory for _, memory in by_slot))

    def contents(self, use: TextureUse) -> Array:
        """Return the bytes of a copy's texels, as `texels` lie."""
        return np.frombuffer(self._copies[use].to_numpy().tobytes(), np.uint8)

    def originals(self, session: Session) -> list[tuple[Hold, Any]]:
        """Return packed texels of copies that launches may change, and the copies' memory, to be given back by the
        device itself."""
        found = []
        for use in (use for use in self._uses if use.is_written):
            copy = self._copies[use]
            hold = Hold(session, copy.spec.size_bytes, f"a copy of `{use.name}`")
            session.device.copy_from_texture(copy.memory, hold.allocation)
            found.append((hold, copy.memory))
        return found
