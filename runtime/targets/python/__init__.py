"""The interpreter as a target: it runs the IR and has no emitted source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...devices.python.capabilities import PORTABLE
from ...devices.target_tools import TargetTools
from ...loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    from ...devices.device import Device

    class _DeviceModule(Protocol):
        def open_device(self) -> Device: ...


_device: Callable[[], _DeviceModule] = loader("...devices.python.device", __package__)

TOOLS = TargetTools(
    name="python",
    arch="python",
    portable=PORTABLE,
    open_device=lambda config, allow_software: _device().open_device(),
    compiler_identity=lambda store: "",
    language="ir",
    title="IR",
    is_interpreter=True,
)
