"""The numbers of one output of a kernel, named as Python names them: what runs are compared by."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ..arrays.memory import Array

RESULT = "return value"


@dataclass(frozen=True, slots=True)
class Values:
    """The numbers of one array, or of one member of its structs.

    array: of shape (*shape, *element shape). axes: how many of those are indices, the rest being of the element.
    suffix: of a member, `.mass`. keys: of active elements of a sparse field, their linear index in `shape`, in order;
    `array` has one axis for them then. is_written: the kernel may change them. type: of the numbers, `f32`.
    """

    name: str
    array: Array
    shape: tuple[int, ...]
    suffix: str = ""
    offset: tuple[int, ...] = ()
    is_written: bool = True
    keys: Array | None = None
    type: str = ""

    @property
    def label(self) -> str:
        """What an output is called: `x`, `p.mass`."""
        return self.name + self.suffix

    def index_of(self, position: int) -> tuple[int, ...]:
        """Return the Python index of the element that holds the number at a flat position."""
        inner = self._element_shape
        item = position // max(1, prod(inner))
        if self.keys is not None:
            item = int(self.keys[item])
        index = np.unravel_index(item, self.shape) if self.shape else ()
        offset = self.offset or (0,) * len(self.shape)
        return tuple(int(part) + begin for part, begin in zip(index, offset, strict=True))

    def text_of(self, position: int) -> str:
        """Return how Python names the number at a flat position: `b[3, 17]`, `v[3][1]`, `p[3].mass`."""
        inner = self._element_shape
        component = np.unravel_index(position % prod(inner), inner) if inner else ()
        shown = f"[{', '.join(str(int(part)) for part in component)}]" if inner else ""
        if self.name.startswith(RESULT):
            return f"{self.name}{self.suffix}{shown}"
        index = self.index_of(position)
        return f"{self.name}[{', '.join(map(str, index)) or 'None'}]{self.suffix}{shown}"

    @property
    def _element_shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.array.shape
        return shape[1 if self.keys is not None else len(self.shape) :]
