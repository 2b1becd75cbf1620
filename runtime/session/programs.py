"""Programs of a session by their text: kernels that differ only in which memory they are given share compiled code.

In: modules. Out: programs, each with an argument block of its own. A thousand fields of one shape that pass through a
`ti.template()` argument emit one text, and so a compiler runs once.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from ..devices.device import Device, Program

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule

RECENT = 32
"""Programs that are kept though nothing launches them: a loop makes a field, runs kernels on it, and drops it."""


class Code:
    """A compiled module. As long as one lives its text is not compiled again."""

    __slots__ = ("__weakref__", "module", "program")

    def __init__(self, module: BackendModule, program: Program) -> None:
        self.module, self.program = module, program


class Programs:
    """The programs of one device. built: how often a compiler ran."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._codes: WeakValueDictionary[tuple[str, ...], Code] = WeakValueDictionary()
        self._recent: deque[Code] = deque(maxlen=RECENT)
        self.built = 0

    def find(self, module: BackendModule, keep: bool = True) -> Code:
        """Return the code of a module: that of an equal one, or newly built. keep: see `Device.build`; it raises."""
        key = (module.kernel, *(file.text for file in module.files))
        found = self._codes.get(key)
        if found is None or not _are_equal(found.module, module):
            found = Code(module, self._device.build(module, keep))
            self.built += 1
            self._codes[key] = found
        if found in self._recent:
            self._recent.remove(found)
        self._recent.append(found)
        return found

    def __len__(self) -> int:
        return len(self._codes)

    def close(self) -> None:
        """Keep none any more."""
        self._recent.clear()


def _are_equal(known: BackendModule, module: BackendModule) -> bool:
    """Tell whether two modules of the same text agree in what a launcher knows; the interpreter's run no text."""
    return known.program is None and (known.files, known.tasks, known.interface, known.options, known.target) == (
        module.files, module.tasks, module.interface, module.options, module.target
    )  # fmt: skip
