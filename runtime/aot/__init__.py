"""`ti.aot`: kernels compiled ahead of time, kept with their text in archives, and loaded again.

What an archive holds stands in docs/archive.md, what one does with it in docs/aot.md.
"""

from ..missing_names import missing
from ..recording.recording import start_recording, stop_recording
from .export import export, export_as
from .load import LoadedGraph, LoadedKernel, LoadedModule, load
from .module import KernelTemplate, Module

__all__ = [
    "KernelTemplate", "LoadedGraph", "LoadedKernel", "LoadedModule", "Module", "export", "export_as", "load",
    "start_recording", "stop_recording",
]  # fmt: skip


def __getattr__(name: str) -> object:
    raise missing("ti.aot", name)
