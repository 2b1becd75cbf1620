"""`ti.init`, before the rest of this package is imported: the driver opens a GPU meanwhile.

In: an architecture and options. Out: the default session. Half of the time from `import shadesmith` to the first kernel
on CUDA is the driver's, and Python can use it; so `import shadesmith` imports only this module and what it needs.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...transpiler.errors import TaichiRuntimeError, as_seen_by_user
from ...transpiler.lang.arch import Arch, cuda, vulkan
from ..devices.vulkan import opening as on_vulkan
from ..loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    from ..config import Config
    from ..devices.cuda.opening import Opening
    from ..store.stats import Event

    class _SessionModule(Protocol):
        def start(
            self,
            arch: Arch | Sequence[Arch] | str | None,
            device: int | str | None,
            test_mode: bool,
            enable_fallback: bool,
            require_version: str | None,
            on_compile: Callable[[Event], object] | None,
            options: dict[str, Any],
        ) -> Config | None: ...

    class _CudaModule(Protocol):
        def begin(self, number: int) -> Opening: ...

        def gpu_number(self, environment: Mapping[str, str]) -> int: ...


_cuda: Callable[[], _CudaModule] = loader("..devices.cuda.opening", __package__)
_session: Callable[[], _SessionModule] = loader(".session", __package__)

BEFORE: list[Callable[[], object]] = []
"""What `init` calls while the driver works: it loads all public names, on which the session relies."""


def init(
    arch: Arch | Sequence[Arch] | str | None = None,
    default_fp: Any = None,
    default_ip: Any = None,
    _test_mode: bool = False,
    enable_fallback: bool = True,
    require_version: str | None = None,
    device: int | str | None = None,
    on_compile: Callable[[Event], object] | None = None,
    **kwargs: Any,
) -> Config | None:
    """Start a session: open a device and end the session before, with all its fields and ndarrays.

    arch: an architecture, a list of which the first that opens is taken (`ti.gpu`), or a name; `ti.cpu` by default.
      SHADESMITH_ARCH or TI_ARCH overrides it.
    enable_fallback: warn and use the CPU if the device is missing, else raise.
    device: number of the device, part of its name, or "cuda:1"; see `ti.devices()`.
    kwargs: the options of `config.Config`.
    _test_mode: return the configuration and open no device.
    default_fp, default_ip: number types of Python's floats and integers in kernels; f32 and i32 by default.
    require_version: a version of Taichi, "1.7.4"; a message says if programs written for it do not run here.
    on_compile: called with a `ti.cache.Event` for each kernel and file that is looked up: stage, hit, why not.
    Raises: KeyError for unknown options; TaichiRuntimeError if no device opens; ValueError, TypeError for values.

    Example:
        >>> ti.init(arch=ti.python, default_fp=ti.f64)
        >>> ti.field(float, 2).dtype
        f64
    """
    options = {"default_fp": default_fp, "default_ip": default_ip, **kwargs}
    wait = None if _test_mode else _begin(arch, device)
    try:
        for load in BEFORE:
            load()
        return _session().start(arch, device, _test_mode, enable_fallback, require_version, on_compile, options)
    except (TaichiRuntimeError, KeyError, ValueError, TypeError) as error:
        if kwargs.get("print_full_traceback"):
            raise
        __tracebackhide__ = True  # for pytest and IPython, as in `tracebacks.py`
        raise as_seen_by_user(error) from None
    finally:
        if wait is not None:
            wait()


def _begin(arch: Arch | Sequence[Arch] | str | None, device: int | str | None) -> Callable[[], object] | None:
    """Let the driver begin to open the device that `ti.init` will choose first, if that is easily seen.

    Return what waits for a context of CUDA. A Vulkan device is waited for at its first use.
    """
    wanted = os.environ.get("SHADESMITH_ARCH") or os.environ.get("TI_ARCH") or arch
    first = wanted[0] if isinstance(wanted, list | tuple) and wanted else wanted
    if not isinstance(device, int | None):
        return None
    if first in (cuda, cuda.name, "gpu") and os.environ.get("TI_ENABLE_CUDA") != "0":
        if importlib.util.find_spec("cupy_backends") is None:  # another device is opened, or none
            return None
        on_cuda = _cuda()
        return on_cuda.begin(on_cuda.gpu_number(os.environ) if device is None else device).wait
    if wanted in (vulkan, vulkan.name) and os.environ.get("TI_ENABLE_VULKAN") != "0":
        on_vulkan.begin(device)
    return None
