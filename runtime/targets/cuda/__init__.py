"""The target CUDA C, compiled by NVRTC."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ...config import Config
from ...devices.cuda.capabilities import PORTABLE
from ...devices.cuda.limited_waits import require
from ...devices.cuda.opening import gpu_number
from ...devices.opening import binaries_for, sources_for
from ...devices.target_tools import TargetTools
from ...loading import loader
from ..preloading import preload

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol

    from ...devices.device import Device
    from ...store.store import Store

    class _DeviceModule(Protocol):
        def open_device(
            self,
            index: int | str = 0,
            sources: Path | None = None,
            store: Store | None = None,
            prepares: bool = False,
            task_graphs: bool = True,
        ) -> Device: ...

        def list_devices(self) -> list[tuple[str, int | None]]: ...

    class _CompilerModule(Protocol):
        def nvrtc_identity(self) -> str: ...


_device: Callable[[], _DeviceModule] = loader("...devices.cuda.device", __package__)
_compiler: Callable[[], _CompilerModule] = loader("...devices.cuda.nvrtc", __package__)


def _open(config: Config, allow_software: bool, chosen: int | str | None = None) -> Device:
    number = gpu_number(os.environ) if chosen is None else chosen
    require(number if isinstance(number, int) else 0)
    is_cold = preload(config)
    return _device().open_device(number, sources_for(config), binaries_for(config), is_cold, config.task_graphs)


TOOLS = TargetTools(
    name="cuda",
    arch="cuda",
    portable=PORTABLE,
    open_device=_open,
    list_devices=lambda: _device().list_devices(),
    compiler_identity=lambda store: _compiler().nvrtc_identity(),
    language="cuda",
    title="CUDA",
    lexer="c++",
    suffix=".cu",
    build_stages=("NVRTC", "cuModuleLoad"),
    gpus=r"sm_\d+[a-z]?",
    default_gpu="sm_90",
)
