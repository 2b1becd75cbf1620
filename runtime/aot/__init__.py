"""`ti.aot`: kernels compiled ahead of time, archived with their sources, and loaded again.

docs/archive.md describes the content of an archive, docs/aot.md its use.
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
