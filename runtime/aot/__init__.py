"""`ti.aot`: kernels compiled ahead of time, kept with their text in archives, and loaded again.

What an archive holds stands in docs/archive.md, what one does with it in docs/aot.md.
"""

from ..compat.later import missing
from ..recording import start_recording, stop_recording
from .export import export, export_as
from .module import KernelTemplate, Module

__all__ = ["KernelTemplate", "Module", "export", "export_as", "start_recording", "stop_recording"]


def __getattr__(name: str) -> object:
    raise missing("ti.aot", name)
