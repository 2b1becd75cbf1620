"""Resources of tasks in GLSL, as the driver reports them (VK_KHR_pipeline_executable_properties)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ...devices.vulkan.device import VulkanDevice, open_device
from .resources import Resources, TaskResources

if TYPE_CHECKING:
    from ...session.session import Session


def vulkan_resources(module: BackendModule, gpu: str, session: Session | None) -> Resources:
    """Query the session's device, or else open one for it."""
    if session is not None and isinstance(session.device, VulkanDevice):
        return _of_driver(module, session.device.statistics(module))
    try:
        device = open_device()
    except TaichiRuntimeError as error:
        return Resources("Vulkan", reason=f"only a driver knows, and no device opens: {error}")
    try:
        return _of_driver(module, device.statistics(module))
    except (TaichiCompilationError, TaichiRuntimeError) as error:  # the source may be for a larger device
        return Resources(device.adapter.name, reason=str(error).strip())
    finally:
        device.close()


def _of_driver(module: BackendModule, statistics: dict[str, Any]) -> Resources:
    """Read a driver's statistics by task; the names of the numbers differ from driver to driver."""
    if not statistics["tasks"]:
        return Resources(statistics["device"], reason=statistics["reason"])
    found: list[TaskResources] = []
    for task in module.tasks:
        reported = dict(statistics["tasks"].get(task.name, {}))
        registers = next(
            (reported.pop(name) for name in ("Register Count", "VGPRs", "Registers") if name in reported), None
        )
        found.append(TaskResources(task.name, task.block_dim, registers=registers, statistics=reported))
    return Resources(statistics["device"], tuple(found))
