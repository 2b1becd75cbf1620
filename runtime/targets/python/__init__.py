"""The interpreter as a target: it runs the IR and has no emitted source."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...config import Config
from ...devices.opening import require_only_device
from ...devices.python.capabilities import PORTABLE
from ...devices.target_tools import TargetTools
from ...loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    from ...devices.device import Device

    class _DeviceModule(Protocol):
        def open_device(self) -> Device: ...


_device: Callable[[], _DeviceModule] = loader("...devices.python.device", __package__)


def _open(config: Config, allow_software: bool, chosen: int | str | None = None) -> Device:
    require_only_device("python", chosen)
    return _device().open_device()


TOOLS = TargetTools(
    name="python",
    arch="python",
    portable=PORTABLE,
    open_device=_open,
    list_devices=lambda: [("interpreter", None)],
    compiler_identity=lambda store: "",
    language="ir",
    title="IR",
    is_interpreter=True,
)
