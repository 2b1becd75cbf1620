"""Programs of a session by their source: kernels that differ only in their memory share compiled code.

In: modules. Out: programs, each with its own argument block. A thousand fields of one shape that pass through a
`ti.template()` argument give one source, so the compiler runs once.
"""

from __future__ import annotations

from collections import deque
from time import perf_counter
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..devices.device import Device, Program
from ..events import COMPILER, note

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule

RECENT = 32
"""Number of unused programs that stay loaded: a loop may make a field, run kernels on it, and drop it."""


class Code:
    """A compiled module; while it lives, its source is not compiled again."""

    __slots__ = ("__weakref__", "module", "program")

    def __init__(self, module: BackendModule, program: Program) -> None:
        self.module, self.program = module, program


class Programs:
    """The programs of one device. built: number of builds."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._codes: WeakValueDictionary[tuple[str, ...], Code] = WeakValueDictionary()
        self._recent: deque[Code] = deque(maxlen=RECENT)
        self.built = 0

    def find(self, module: BackendModule, keep: bool = True) -> Code:
        """Return the code of a module: that of an equal one, or a new build.

        keep: see `Device.build`. Raises: what `Device.build` raises.
        """
        key = (module.kernel, *(file.text for file in module.files))
        found = self._codes.get(key)
        if found is None or not _are_equal(found.module, module):
            start = perf_counter()
            found = Code(module, self._device.build(module, keep))
            note(COMPILER, module.target, module.kernel, start)
            self.built += 1
            self._codes[key] = found
        if found in self._recent:
            self._recent.remove(found)
        self._recent.append(found)
        return found

    def __len__(self) -> int:
        return len(self._codes)

    def close(self) -> None:
        """Drop the programs that nothing launches."""
        self._recent.clear()


def _are_equal(other: BackendModule, module: BackendModule) -> bool:
    """Return whether two modules of the same source agree in all that a launcher uses; the interpreter's have none."""
    return other.program is None and (other.files, other.tasks, other.interface, other.options, other.target) == (
        module.files, module.tasks, module.interface, module.options, module.target
    )  # fmt: skip
