"""`ti.aot`: kernels compiled ahead of time, kept with their text in archives, and loaded again.

What an archive holds stands in docs/archive.md, what one does with it in docs/aot.md.
"""

from ..recording import start_recording, stop_recording
from .module import KernelTemplate, Module

__all__ = ["KernelTemplate", "Module", "start_recording", "stop_recording"]
