"""The target GLSL, compiled by glslang for Vulkan."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ...config import Config
from ...devices.opening import binaries_for, sources_for
from ...devices.target_tools import TargetTools
from ...devices.vulkan.capabilities import PORTABLE
from ...devices.vulkan.opening import begin, wait_for_choice
from ...loading import loader
from ..preloading import preload

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Protocol

    from ....transpiler.backend.module.interface import BackendModule
    from ...devices.device import Device
    from ...store.store import Store

    class _DeviceModule(Protocol):
        def open_device(
            self,
            preference: int | str | None = None,
            *,
            allow_software: bool = True,
            sources: Path | None = None,
            store: Store | None = None,
            optimize: bool = False,
            task_graphs: bool = True,
            opens_later: bool = False,
        ) -> Device: ...

        def list_devices(self) -> list[tuple[str, int | None]]: ...

    class _SizesModule(Protocol):
        def sizes_of(self, module: BackendModule) -> dict[str, tuple[int, int | None]]: ...

    class _CompilerModule(Protocol):
        def identity(self) -> str: ...


_device: Callable[[], _DeviceModule] = loader("...devices.vulkan.device", __package__)
_spirv_sizes: Callable[[], _SizesModule] = loader(".spirv_sizes", __package__)
_compiler: Callable[[], _CompilerModule] = loader("...devices.vulkan.glslang", __package__)


def _open(config: Config, allow_software: bool, chosen: int | str | None = None) -> Device:
    begin(chosen)
    preload(config)
    device = _device()
    wait_for_choice()
    return device.open_device(
        chosen,
        allow_software=allow_software,
        sources=sources_for(config),
        store=binaries_for(config),
        optimize=config.spirv_opt,
        task_graphs=config.task_graphs,
        opens_later=allow_software,  # it is the only one that is wanted, so that another one need not be tried
    )


TOOLS = TargetTools(
    name="vulkan",
    arch="vulkan",
    portable=PORTABLE,
    open_device=_open,
    list_devices=lambda: _device().list_devices(),
    compiler_identity=lambda store: _compiler().identity(),
    language="glsl",
    title="GLSL",
    lexer="glsl",
    suffix=".comp",
    build_stages=("glslang", "pipelines"),
    binary_sizes=lambda module: _spirv_sizes().sizes_of(module),
)
