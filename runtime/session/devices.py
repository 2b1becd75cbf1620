"""`ti.devices`: what there is to run kernels on; `ti.device`: the session of one of them, by name.

A name is that of an architecture, "cpu", or that and a number: "cuda:1", "vulkan:0".
"""

from __future__ import annotations

from typing import Any

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.lang.arch import ARCHES
from ...transpiler.lazy_dataclasses import dataclass
from ..config import OPTIONS, read_config
from ..devices.device import format_size
from ..devices.target_tools import TARGETS, tools_of
from ..locks import new_lock
from . import session as sessions
from .session import Session
from .tracebacks import hides_own_frames_of

FIRST = ("c", "cuda", "vulkan", "python")
"""The targets in the order in which devices are listed."""


@dataclass(frozen=True, slots=True)
class DeviceInfo:
    """A device that is there.

    name: as `ti.device` takes it: "cuda:1". title: of the hardware. memory_bytes: of the device; for the host what is
    free; None if it is unknown.

    Example:
        >>> [device.name for device in ti.devices()][-1]
        'python:0'
    """

    name: str
    title: str
    memory_bytes: int | None

    def __str__(self) -> str:
        size = "" if self.memory_bytes is None else f", {format_size(self.memory_bytes)}"
        return f"{self.name}: {self.title}{size}"


def devices() -> list[DeviceInfo]:
    """Return the devices that are there, with the names that `ti.device` takes; no session is started.

    Example:
        >>> ti.devices()[0].name
        'cpu:0'
    """
    found = []
    for target in sorted(TARGETS, key=FIRST.index):
        tools = tools_of(target)
        titles = enumerate(tools.list_devices())
        found += [DeviceInfo(f"{tools.arch}:{number}", title, size) for number, (title, size) in titles if title]
    return found


_SHARED: dict[tuple[str, int | None], Session] = {}
"""The sessions of `device`, by target and number; None: the first device of the target."""
_LOCK = new_lock()


@hides_own_frames_of(TypeError)
def device(name: str) -> Session:
    """Return the session of a device, `with ti.device("cuda:1"):`; all calls with one name return the same.

    It is the default session if that runs on this device, else one that is opened at the first call, with the options
    of the default session if there is one. It is open until `session.close()` or the end of the process.
    Raises: TaichiRuntimeError if there is no such device; TypeError for anything but a string.

    Example:
        >>> with ti.device("python"):
        ...     x = ti.field(ti.i32, 2)
        >>> x.session is ti.device("python:0")
        True
    """
    if not isinstance(name, str):
        raise TypeError(f"ti.device takes a name, 'cpu' or 'cuda:1', and {name!r} was given")
    arch_name, _, which = name.partition(":")
    arch = ARCHES.get(arch_name)
    if arch is None or arch.target is None:
        raise _unknown(name)
    number = _number_of(arch.target, which, name)
    with _LOCK:
        default = sessions.CURRENT
        if default is not None and default.device.name == arch.target and number in (None, _index_of(default)):
            return default
        found = _SHARED.get((arch.target, number))
        if found is None or found.is_closed:
            found = Session(arch, number, **_options_of(default))
            for key in {number, _index_of(found)}:
                _SHARED[arch.target, key] = found
        return found


def _number_of(target: str, which: str, name: str) -> int | None:
    """Return the number of a device given by number or part of its name; None for the first."""
    if not which:
        return None
    titles = [title for title, _ in tools_of(target).list_devices()]
    fitting = [n for n, title in enumerate(titles) if title and (which == str(n) or which.lower() in title.lower())]
    if not fitting:
        raise _unknown(name)
    return int(which) if which.isdigit() and int(which) in fitting else fitting[0]


def _index_of(session: Session) -> int:
    return int(getattr(session.device, "index", 0))


def _options_of(session: Session | None) -> dict[str, Any]:
    """Return the options of a session that differ from those of a session without arguments."""
    if session is None:
        return {}
    usual = read_config({})[0]
    names = (name for name in OPTIONS if name != "arch")
    return {n: getattr(session.config, n) for n in names if getattr(session.config, n) != getattr(usual, n)}


def _unknown(name: str) -> TaichiRuntimeError:
    names = ", ".join(repr(found.name) for found in devices())
    return TaichiRuntimeError(f"there is no device {name!r}", f"`ti.devices()` lists {names}")


def session_at(place: Session | str) -> Session:
    """Return the session that `x.to` was given, or the one of a device's name. Raises: TypeError for anything else."""
    if isinstance(place, Session):
        return place
    if isinstance(place, str):
        return device(place)
    raise TypeError(f"takes a session or the name of a device, 'cuda:1', and {place!r} was given")
