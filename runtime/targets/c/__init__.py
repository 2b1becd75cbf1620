"""The target C, compiled for the host."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...config import Config
from ...devices.host.capabilities import PORTABLE
from ...devices.opening import binaries_for, require_only_device
from ...devices.target_tools import TargetTools
from ...loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    from ...devices.device import Device
    from ...store.store import Store

    class _DeviceModule(Protocol):
        def open_device(self, threads: int | None = None, store: Store | None = None) -> Device: ...

        def list_devices(self) -> list[tuple[str, int | None]]: ...

    class _CompilerModule(Protocol):
        def identity(self, store: Store | None) -> str: ...


_device: Callable[[], _DeviceModule] = loader("...devices.host.device", __package__)
_compiler: Callable[[], _CompilerModule] = loader("...devices.host.compiler", __package__)


def _open(config: Config, allow_software: bool, chosen: int | str | None = None) -> Device:
    require_only_device("cpu", chosen)
    return _device().open_device(threads=config.cpu_max_num_threads or None, store=binaries_for(config))


TOOLS = TargetTools(
    name="c",
    arch="cpu",
    portable=PORTABLE,
    open_device=_open,
    list_devices=lambda: _device().list_devices(),
    compiler_identity=lambda store: _compiler().identity(store),
    language="c",
    title="C",
    lexer="c",
    suffix=".c",
    build_stages=("cc", "dlopen"),
)
