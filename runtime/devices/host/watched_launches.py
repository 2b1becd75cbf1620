"""Launches on the host under `ti.init(watchdog=...)`: one that takes longer is stopped, as by Ctrl-C.

In: the functions of a kernel. Out: the function that runs them, with a time limit that `kernel_signals.c` observes.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Sequence

from ....transpiler.backend.module.interface import BackendModule
from ....transpiler.errors import ShadesmithWarning
from ..device import too_long
from .compiler import Library
from .kernel_signals import attention, watch_function

Submit = Callable[..., None]


def watched(
    module: BackendModule,
    functions: Sequence[Callable[[object], None]],
    own: object,
    libraries: Sequence[Library],
    seconds: float,
    finish: Callable[[str], None],
) -> Submit | None:
    """Return the function that runs the tasks, None where kernels cannot be stopped.

    seconds: that a launch may take. finish: takes the message of a launch that took longer.
    """
    watch = watch_function()
    numbers = sorted({library.number for library in libraries if library.number >= 0})
    if watch is None or not numbers:
        return None
    places = (ctypes.c_int32 * len(numbers))(*numbers)
    count, nanoseconds = len(numbers), int(seconds * 1e9)
    if not watch(places, count, nanoseconds):
        warnings.warn("kernels cannot be stopped on this processor: watchdog= has no effect", ShadesmithWarning, 2)
    watch(places, count, 0)

    def submit(counts: Sequence[int], arguments: object = own, keep: object = libraries) -> None:
        index = 0
        watch(places, count, nanoseconds)
        try:
            while index < len(functions):
                functions[index](arguments)
                if attention:
                    break
                index += 1
        finally:
            watch(places, count, 0)
            if attention:
                finish(too_long(module.kernel, module.tasks[min(index, len(functions) - 1)], seconds))

    return submit
