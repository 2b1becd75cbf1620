"""Choosing a device: from what `ti.init` and `ti.Session` are given to an open device."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang import arch as arches
from ...transpiler.lang.arch import ARCHES, Arch
from ..close_names import close_names
from ..config import Config
from ..devices.device import Device
from ..devices.target_tools import TARGETS, tools_of
from ..loading import without_collections
from .logging_levels import LOGGER

FALLBACK_HINT = "leave out `enable_fallback=False` to run"
"""Start of the last line of the message that `ti.init` raises if no device opens."""


def wanted_by_environment(environment: Mapping[str, str]) -> str:
    """Return the architecture that the environment names, "" if it names none."""
    name = environment.get("SHADESMITH_ARCH") or environment.get("TI_ARCH") or ""
    if name:
        LOGGER.info("Following the environment: arch=%s", name)
    return name


def wanted_of(
    arch: Arch | Sequence[Arch] | str | None, device: int | str | None = None
) -> tuple[tuple[Arch, ...], int | str | None]:
    """Return the architectures that are tried in order, and the device of one: its number or name, None for the first.

    Raises: TaichiRuntimeError for an unknown architecture, and for a device of another one; TypeError for other types.
    """
    if device is None:
        return _archs_of(arch), None
    if isinstance(device, bool) or not isinstance(device, int | str):
        raise TypeError(f"`device` takes a number, a name or both, 1 or 'cuda:1', and {device!r} was given")
    name, colon, number = device.partition(":") if isinstance(device, str) else ("", "", device)
    if isinstance(device, str) and not (name in ARCHES and (colon == "") == (number == "")):
        name, number = "", device
    if name and arch is not None and not any(item.target == ARCHES[name].target for item in _archs_of(arch)):
        raise TaichiRuntimeError(f"device={device!r} is not one of arch={arch}", "leave out one of the two")
    if number == "":
        return _archs_of(name), None
    return _archs_of(name or arch), int(number) if str(number).isdigit() else number


def _archs_of(arch: Arch | Sequence[Arch] | str | None) -> tuple[Arch, ...]:
    if arch is None:
        return (arches.cpu,)
    if isinstance(arch, str):
        if arch == "gpu":
            return tuple(arches.gpu)
        if arch not in ARCHES:
            close = close_names(arch, ["gpu", *ARCHES])
            meant = f"did you mean `{close[0]}`? " if close else ""
            raise TaichiRuntimeError(f"Arch={arch} is not known", f"{meant}Known are: gpu, {', '.join(ARCHES)}")
        return (ARCHES[arch],)
    found = (arch,) if isinstance(arch, Arch) else tuple(arch)
    for item in found:
        if not isinstance(item, Arch):
            raise TypeError(f"`arch` of ti.init takes ti.cpu, ti.gpu, ti.vulkan, ti.cuda, ..., and {item!r} was given")
    return found


def open_first(
    wanted: tuple[Arch, ...],
    config: Config,
    enable_fallback: bool,
    chosen: int | str | None = None,
    hint: str = "",
) -> tuple[Device, Arch, str]:
    """Return the first device that opens, its architecture, and a warning if it is not one of those wanted.

    chosen: which device of the architecture, None for the first. hint: instead of the one of `ti.init`.
    Raises: TaichiRuntimeError if none opens.
    """
    missing: list[str] = []
    for arch in wanted:
        device = _try(arch, config, len(wanted) == 1, missing, chosen)
        if device is not None:
            return device, arch, ""
    shown = list(wanted)
    reasons = "".join(f"\n  {reason}" for reason in missing)
    if not enable_fallback:
        hint = hint or f"{FALLBACK_HINT} {_fallback(wanted)} instead"
        raise TaichiRuntimeError(f"Arch={shown} is not supported{reasons}", hint)
    if not _names_host(wanted):
        device = _try(arches.cpu, config, True, missing)
        if device is not None:
            return device, arches.cpu, f"Arch={shown} is not supported, falling back to CPU{reasons}"
    reasons = "".join(f"\n  {reason}" for reason in missing)
    message = f"Arch={shown} is not supported, falling back to ti.python, which interprets kernels and is slow{reasons}"
    return OPENERS[str(arches.python.target)](config, True), arches.python, message


def _names_host(wanted: tuple[Arch, ...]) -> bool:
    return any(arch.target == arches.cpu.target for arch in wanted)


def _fallback(wanted: tuple[Arch, ...]) -> str:
    """Return a phrase for what runs kernels if none of the architectures does."""
    return "in the interpreter ti.python, which is slow," if _names_host(wanted) else "on the CPU"


def _try(arch: Arch, config: Config, only: bool, missing: list[str], chosen: int | str | None = None) -> Device | None:
    """Open an architecture's device, or add the reason to `missing`. only: a software driver is acceptable."""
    if arch.target is None:
        if only:
            missing.append(f"{arch.name}: shadesmith has no such target; it has vulkan, cuda, cpu and python")
        return None
    switch = f"TI_ENABLE_{arch.target.upper()}"
    if os.environ.get(switch) == "0":
        missing.append(f"{arch.name}: {switch}=0")
        return None
    try:
        opener = OPENERS[arch.target]
        with without_collections(imports=True):
            return opener(config, only) if chosen is None else opener(config, only, chosen)
    except TaichiRuntimeError as error:
        missing.append(f"{arch.name}: {error}")
        return None


def _opener(target: str) -> Callable[..., Device]:
    return lambda config, software, *chosen: tools_of(target).open_device(config, software, *chosen)


OPENERS = {target: _opener(target) for target in TARGETS}
"""Functions that open a device of each target. They take the options, whether a software driver is acceptable, and the
number or name of the device if one is chosen."""
