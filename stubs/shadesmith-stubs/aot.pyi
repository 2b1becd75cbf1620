from typing import Any, TypeAlias, TypeVar

from shadesmith.runtime.aot.module import KernelTemplate as KernelTemplate
from shadesmith.runtime.aot.loaded_graph import LoadedGraph as LoadedGraph
from shadesmith.runtime.aot.load import LoadedKernel as LoadedKernel
from shadesmith.runtime.aot.load import LoadedModule as LoadedModule
from shadesmith.runtime.aot.module import Module as Module
def export(f: Any) -> Any:
    """Mark kernel `f` to be built under its own name by `shadesmith build`."""
def export_as(name: Any, *, template_types: Any = ...) -> Any:
    """Mark a kernel to be built under `name`. template_types: values of template parameters, and arrays, by name."""
def load(source: Any) -> Any:
    """Load an archive, or a folder that `save` wrote, for the device of the session."""
def start_recording(filename: Any) -> None:
    """Record all kernels that are compiled and launched until `stop_recording`, or until Python ends."""
def stop_recording() -> None:
    """Write the recording since `start_recording`. Raises: TaichiRuntimeError if there is none; OSError."""
