"""Opens a Vulkan device in another thread: drivers need 0.15 s, in which Python can import what a program needs.

In: the preferred device. Out: a logical device of the one that the session chooses; a session waits for the instance,
half of the time, and for the device at its first use. `ti.init` begins before most of this package is imported, so
little is imported here.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from ...loading import loader

if TYPE_CHECKING:
    from typing import Protocol

    from .instance import Adapter, Api, Instance

    class _InstanceModule(Protocol):
        def load_api(self) -> Api: ...

        def resident_instance(self, api: Api) -> Instance | None: ...

        def choose_adapter(
            self, adapters: list[Adapter], preference: int | str | None, allow_software: bool
        ) -> Adapter: ...

        def create_device(self, api: Api, adapter: Adapter) -> tuple[Any, Any]: ...


_instance: Callable[[], _InstanceModule] = loader(".instance", __package__)


class _Opening:
    """A device that is being opened, and that nobody uses yet. The end of a program waits for the thread.

    adapter: what it is made of, None if that is not known. made: the logical device and its queue, with their API.
    """

    def __init__(self, preference: int | str | None) -> None:
        self.adapter: Adapter | None = None
        self.made: tuple[Api, tuple[Any, Any]] | None = None
        self._preference = preference
        self._is_chosen, self._is_done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="shadesmith's Vulkan device", daemon=False)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _run(self) -> None:
        """Open the device. Python may run while drivers work; an error is left to the session, which tries again."""
        module = _instance()
        try:
            with suppress(Exception):
                api = module.load_api()
                instance = module.resident_instance(api)
                if instance is not None:
                    adapter = module.choose_adapter(instance.adapters(), self._preference, True)
                    self.adapter = adapter
                    self._is_chosen.set()
                    self.made = api, module.create_device(api, adapter)
        finally:
            self._is_chosen.set()
            self._is_done.set()

    @property
    def is_busy(self) -> bool:
        """Whether the thread runs."""
        return not self._is_done.is_set()

    def wait_for_choice(self) -> None:
        """Wait until `adapter` is known, or cannot be."""
        self._is_chosen.wait()

    def wait(self) -> None:
        """Wait until the driver is done."""
        self._is_done.wait()  # not `join`: after Ctrl-C Python 3.11 takes a thread that was joined for ended

    def take(self) -> tuple[Api, Any, tuple[Any, Any]] | None:
        """Return what was made, with its adapter, to the one who uses it from now on."""
        self.wait()
        made, self.made = self.made, None
        return None if made is None else (made[0], self.adapter, made[1])


_openings: dict[int, _Opening] = {}
"""By process: an instance is made once, and stays."""


def begin(preference: int | str | None) -> None:
    """Begin to open a device, once in a process; see `open_device`. Errors are left to that.

    What Python has to do for it comes first: it takes 4 ms here, and 20 in a thread while this one imports, since a
    thread gets Python's lock 5 ms after it asks for it.
    """
    if os.getpid() not in _openings:
        with suppress(Exception):
            _instance().load_api()
        opening = _openings[os.getpid()] = _Opening(preference)
        opening.start()


def wait_for_choice() -> None:
    """Wait until it is known which device is being opened, or that none can be."""
    opening = _openings.get(os.getpid())
    if opening is not None:
        opening.wait_for_choice()


def is_being_opened(adapter: Adapter) -> bool:
    """Return whether a thread is opening this device now."""
    opening = _openings.get(os.getpid())
    return (
        opening is not None
        and opening.is_busy
        and opening.adapter is not None
        and opening.adapter.handle == adapter.handle
    )


def logical_device(api: Api, adapter: Adapter) -> tuple[Any, Any]:
    """Return a logical device and its queue: those that were begun, if they are of this adapter, else new ones."""
    opening = _openings.get(os.getpid())
    made = None if opening is None else opening.take()
    if made is not None:
        if made[0] is api and made[1].handle == adapter.handle:
            return made[2]
        destroy(*made)
    return _instance().create_device(api, adapter)


def forget() -> None:
    """Destroy the device that was begun, if nobody has used it."""
    opening = _openings.get(os.getpid())
    made = None if opening is None else opening.take()
    if made is not None:
        destroy(*made)


def destroy(api: Api, _: Adapter, made: tuple[Any, Any]) -> None:
    """Destroy what `logical_device` has returned for an adapter."""
    api.lib.vkDestroyDevice(made[0], api.ffi.NULL)


def _wait() -> None:
    """Wait before a fork: a child would have half a driver."""
    opening = _openings.get(os.getpid())
    if opening is not None:
        opening.wait()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_wait)
