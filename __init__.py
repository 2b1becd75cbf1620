"""shadesmith: Taichi kernels as readable GLSL, CUDA C and C. `import shadesmith as ti`; the public names are Taichi's.

Only names. What is imported here needs a hundredth of a second; the rest is imported by `ti.init` while the driver
opens a GPU, or at the first use of another name (`runtime/public.py`).
"""

from __future__ import annotations

import sys
import threading as _threading
from typing import TYPE_CHECKING

from .runtime.compat.lazy import load as _load
from .runtime.importing import PathFinder as _PathFinder
from .runtime.importing import load_public as _load_public
from .runtime.missing_names import missing as _missing
from .runtime.public_names import NAMES as _NAMES_ON_DEMAND
from .runtime.session.starting import init  # noqa: F401 - names of the package, as the next
from .transpiler.lang.arch import (  # noqa: F401
    amdgpu,
    arm64,
    cc,
    cpu,
    cuda,
    dx11,
    dx12,
    gles,
    gpu,
    metal,
    opengl,
    python,
    vulkan,
    x64,
    x86_64,
)

if TYPE_CHECKING:
    from .runtime.public import *  # noqa: F403
    from .runtime.public import __all__, __taichi_version__, __version__  # noqa: F401

_MODULES_ATTRIBUTES = ("__all__", "__taichi_version__", "__version__")

sys.meta_path.insert(0, _PathFinder())  # before the default finder, which would load a second copy of the file

if _threading.current_thread() is not _threading.main_thread():
    _load_public()  # others may import parts of the package at once, when each would hold what the other waits for


def __dir__() -> list[str]:
    return sorted({*globals(), *vars(_load_public()), *_NAMES_ON_DEMAND})


def __getattr__(name: str) -> object:
    if name.startswith("__") and name not in _MODULES_ATTRIBUTES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
    names = vars(_load_public())
    if name in names:
        globals().update({key: value for key, value in names.items() if key not in globals()})
        return names[name]
    if name in _NAMES_ON_DEMAND:
        return globals().setdefault(name, _load(name))
    if name == "cfg":
        return names["_cfg"]()
    raise _missing("ti", name)
