"""`ti.reset`, `ti.sync`, `ti.Session`, what `ti.init` starts: a device, its options, and everything that lives on it.

In: an architecture and options. Out: a `Session`. Fields and ndarrays belong to the session that made them; when it
ends, their memory is freed and using them raises. `several.py` has which session is current.

A launcher has two statements in every launch, inlined for speed: `if session.pending: session.flush_pending()` before
it writes back what Python changed in mirrors, and `session.epoch += 1` after it marks views of memory as stale.
"""

from __future__ import annotations

import atexit
import gc
import os
import warnings
from collections.abc import Callable, Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar
from weakref import WeakKeyDictionary, WeakSet

from ...transpiler.errors import ShadesmithWarning, TaichiRuntimeError, as_seen_by_user
from ...transpiler.ir.types import Scalar
from ...transpiler.lang.arch import Arch
from ..config import Config, read_config
from ..devices.device import Allocation, Device, OutOfMemory, format_size
from ..devices.opening import store_for
from ..locks import new_lock
from ..store.stats import LISTENERS, Event
from . import several
from .allocation_handle import CLOSED, AllocationHandle, OwnerNames, StagingPool
from .choosing import OPENERS, open_first, wanted_by_environment, wanted_of  # noqa: F401 - tests replace openers
from .logging_levels import LOGGER, set_logging_level
from .module_source import GeneratedOnly
from .other_threads import keep_for_ever, wait_for_other_threads
from .programs import Programs
from .several import ENTERED, RESTORE
from .versions import check_version

if TYPE_CHECKING:
    from .interfaces import ModuleSource, Owned, Watched

T = TypeVar("T")

DEVICES_HINT = "`ti.devices()` lists what is there"
LONGEST_WAIT, LONGEST_WAIT_AT_EXIT = 10.0, 1.0
"""How long the end of a session waits for launches of other threads [s]."""


class Session:
    """A device and what runs on it. `with session:` makes it the current one of this thread.

    arch: an architecture, a list of which the first that opens is taken, or a name; `ti.cpu` by default.
    device: number of the device of that architecture, part of its name, or both at once, "cuda:1"; the first, if it is
      left out. `ti.devices()` lists them.
    memory_limit_GB: the most memory that its fields and arrays may use [GiB]; None: what there is.
    options: those of `ti.init`.
    Raises: TaichiRuntimeError if no such device opens.

    Several sessions may be open at once, on different devices or on one. Fields and ndarrays belong to the session in
    which they are made; a kernel is compiled once for each session in which it is called. See docs/several-devices.md.

    Example:
        >>> session = ti.Session(ti.python)
        >>> with session:
        ...     x = ti.field(ti.i32, 3)
        >>> x.session is session
        True
        >>> session.close()

    For contributors:
    number: for messages.
    activate: makes its GPU the current one of the thread, and returns what undoes that; None for other devices.
    kernels: the instances of kernels in this session, unless it is the default one.
    roots: what is below `ti.root` and the roots of `ti.FieldsBuilder` in this session.
    memory_limit: [bytes], None: no limit.
    epoch: number of launches so far, -1 once closed.
    waited: the epoch up to which host memory is up to date.
    pending: actions that must happen before the next launch: writing back a mirror.
    lock: held by a thread while it runs these actions, and while it fills or changes mirrors.
    staging: memory for arguments that launches copy to the device.
    handles: of all memory in use, for reports.
    store: caches kernels between processes; None if the cache is off.
    sources: decides which module of a kernel runs.
    reports: the buffer for records of print and assert (`printing.ReportBuffer`), made by the first kernel with some.
    compiled_functions: incremented by kernels.
    launches: incremented by kernels that take a seed.
    fields_with_derivatives: the fields that have a gradient or a dual.
    derivatives_to_place: the fields without a shape that were made with `needs_grad` ("grad") or `needs_dual` ("dual").
    """

    __slots__ = (
        "__weakref__",
        "activate",
        "arch",
        "arrays",
        "compiled_functions",
        "config",
        "device",
        "epoch",
        "derivatives_to_place",
        "fields_with_derivatives",
        "handles",
        "is_closed",
        "is_default",
        "kernels",
        "launches",
        "memory_limit",
        "number",
        "_process",
        "_watches",
        "lock",
        "options",
        "pending",
        "programs",
        "reports",
        "roots",
        "sources",
        "staging",
        "store",
        "stuck",
        "waited",
        "watched",
    )

    def __init__(
        self,
        arch: Arch | Sequence[Arch] | str | None = None,
        device: int | str | None = None,
        memory_limit_GB: float | None = None,  # noqa: N803 - as `device_memory_GB`
        **options: Any,
    ) -> None:
        __tracebackhide__ = True
        try:
            wanted, chosen = wanted_of(arch, device)
            config, messages = read_config(options)
            with STARTING:
                opened, config.arch, _ = open_first(wanted, config, False, chosen, DEVICES_HINT)
        except TaichiRuntimeError as error:
            raise as_seen_by_user(error) from None
        for message in messages:
            warnings.warn(message, ShadesmithWarning, stacklevel=2)
        self._start(opened, config)
        self.memory_limit: int | None = None if memory_limit_GB is None else int(memory_limit_GB * 2**30)
        self.is_default = False
        several.add(self)

    @classmethod
    def on_device(cls, device: Device, config: Config) -> Session:
        """Return the session of an open device, for the default session."""
        session = cls.__new__(cls)
        session._start(device, config)
        return session

    def _start(self, device: Device, config: Config) -> None:
        self.number = next(several.NUMBERS)
        self.is_default = True
        self.device = device
        self.stuck = ""
        """Why the device is not waited for any more, "" while it answers."""
        self.activate: Callable[[], Callable[[], None]] | None = getattr(device, "activate", None)
        self.arch = config.arch
        self.config = config
        self.memory_limit = None
        self.roots: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.kernels: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
        self.options = config.compile_options()
        self.epoch = 0
        self.waited = 0
        self.compiled_functions = 0
        self.launches = 0
        self.pending: list[Callable[[], None]] = []
        self.programs = Programs(device)
        self.sources: ModuleSource = _sources_of_modules
        self.store = store_for(config)
        self.is_closed = False
        self.staging = StagingPool(self)
        self.handles: WeakSet[AllocationHandle] = WeakSet()
        self.lock = new_lock()
        self._process = os.getpid()
        self.reports: Any = None
        self.arrays: WeakSet[Owned] = WeakSet()
        self.watched: WeakSet[Watched] = WeakSet()
        self._watches = False
        self.fields_with_derivatives: WeakSet[Any] = WeakSet()
        self.derivatives_to_place: dict[str, WeakSet[Any]] = {"grad": WeakSet(), "dual": WeakSet()}
        name_owners = getattr(device, "name_owners", None)
        if name_owners is not None:
            name_owners(OwnerNames(self.handles))
        limit_launches = getattr(device, "limit_launches", None)
        if limit_launches is not None:
            limit_launches(config.watchdog)

    # --- the current session

    @staticmethod
    def current() -> Session:
        """Return the current session of this thread. Raises: TaichiRuntimeError if there is none."""
        return current()

    def __enter__(self) -> Session:
        if self.epoch == CLOSED:
            raise as_seen_by_user(closed_error(self))
        ENTERED.set((*ENTERED.get(), self))
        if self.activate is not None:
            RESTORE.set((*RESTORE.get(), self.activate()))
        return self

    def __exit__(self, *_: object) -> None:
        entered = ENTERED.get()
        if not entered or entered[-1] is not self:
            raise TaichiRuntimeError(f"the `with` of {self.name} ends here, and another one was begun after it")
        ENTERED.set(entered[:-1])
        if self.activate is not None:
            restore = RESTORE.get()
            RESTORE.set(restore[:-1])
            restore[-1]()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self!r} cannot be copied or pickled: it is a device of this process. Hint: make another one")

    def __repr__(self) -> str:
        state = ", closed" if self.epoch == CLOSED else ""
        return f"<{self.name} on {self.device.title}{state}>"

    @property
    def name(self) -> str:
        """Its name in messages: "session 2 (ti.vulkan)"."""
        return f"session {self.number} (ti.{self.arch.name})"

    # --- launches

    def flush_pending(self) -> None:
        """Run the pending actions."""
        with self.lock:
            while self.pending:
                due = self.pending[:]
                try:
                    for action in due:
                        action()
                finally:  # not before: another thread that finds nothing pending may launch
                    del self.pending[: len(due)]

    def next_seed(self) -> int:
        """Return a 32-bit number that differs from launch to launch, and is the same in every run of the program."""
        self.launches += 1
        return (self.config.random_seed * 0x9E3779B1 + self.launches * 0x85EBCA6B) & 0xFFFFFFFF

    def wait(self) -> None:
        """Wait until host memory shows all launches so far."""
        epoch = self.epoch
        if self.waited != epoch:
            self.device.synchronize()
            self.waited = epoch
            self.check()

    def sync(self) -> None:
        """Run the pending actions and wait for all launches. Raises: TaichiRuntimeError if one failed."""
        if self.pending:
            self.flush_pending()
        epoch = self.epoch
        self.device.synchronize()
        self.waited = epoch
        self.check()

    def check(self) -> None:
        """Raise the failures of launches that have ended. Raises: TaichiRuntimeError for a pool that was full."""
        if self._watches:  # a look at an empty weak set takes longer than the wait for a launch on the host
            for watched in list(self.watched):
                watched.check()

    def watch(self, watched: Watched) -> None:
        """Check `watched` whenever launches have ended, without keeping it alive."""
        self.watched.add(watched)
        self._watches = True

    # --- memory

    def allocate(self, size_bytes: int, owner: str, lazily: bool = False) -> Allocation:
        """Return zeroed memory; if there is too little, free the staging pool and try again.

        The caller frees it by `release`. owner: its purpose, for messages. lazily: see `Device.allocate`.
        Raises: TaichiRuntimeError naming the bytes requested, used and available, and the largest owners.
        """
        if self.memory_limit is not None and not lazily:
            self._check_limit(size_bytes, owner)
        return self.obtain(lambda: self.device.allocate(size_bytes, lazily), owner)

    def _check_limit(self, size_bytes: int, owner: str) -> None:
        """Raise TaichiRuntimeError if memory would exceed the session's limit, after freeing what can be freed."""
        assert self.memory_limit is not None
        for attempt in (self.staging.clear, gc.collect, None):
            used = self.device.used_bytes
            if used + size_bytes <= self.memory_limit:
                return
            if attempt is not None:
                attempt()
        reason = f"the limit of {self.name} is {format_size(self.memory_limit)}"
        error = OutOfMemory(self.name, size_bytes, used, max(0, self.memory_limit - used), reason)
        raise TaichiRuntimeError(error.describe(owner, self.largest_owners()), error.REMEDY)

    def obtain(self, make: Callable[[], T], owner: str) -> T:
        """Return what `make` allocates in the device's memory; frees memory and raises as `allocate` does."""
        try:
            return make()
        except OutOfMemory:
            self.staging.clear()
            gc.collect()
            self.device.synchronize()  # memory that launches still use is freed when they have ended
        try:
            return make()
        except OutOfMemory as error:
            raise TaichiRuntimeError(error.describe(owner, self.largest_owners()), error.REMEDY) from None

    def register_handle(self, handle: AllocationHandle) -> None:
        """Remember a handle for reports, without keeping it alive."""
        self.handles.add(handle)

    def largest_owners(self, count: int = 3) -> list[tuple[str, int]]:
        """Return the owners of most memory, with the bytes."""
        owners = [(handle.owner, handle.size_bytes) for handle in list(self.handles) if not handle.is_released]
        return sorted(owners, key=lambda owner: -owner[1])[:count]

    def release(self, allocation: Allocation) -> None:
        """Free an allocation as soon as no launch uses it; finalizers may call this at any moment."""
        if not self.is_closed:  # a closed device has freed all memory, and at exit its modules may be gone
            self.device.free(allocation)

    def register(self, owned: Owned) -> None:
        """Remember an object that ends with the session, without keeping it alive."""
        self.arrays.add(owned)

    def wait_for_other_threads(self, seconds: float = LONGEST_WAIT) -> bool:
        """Wait until the calls of other threads in progress have ended; return whether all have."""
        return wait_for_other_threads(seconds, HARMLESS, self)

    def close(self, seconds: float = LONGEST_WAIT) -> None:
        """End all objects of the session, then the device.

        Later launches fail; those of other threads in progress may end first. seconds: how long to wait for them.
        """
        if self.is_closed or self.epoch == CLOSED:
            return
        several.remove(self)
        if self.is_inherited or self.stuck:
            self._abandon()
            return
        try:
            self.sync()
        finally:
            if self._refuse_launches(seconds):
                self._free()
            else:
                self._abandon()
                text = f"a launch in another thread had not ended after {seconds:g} s when its session was closed"
                warnings.warn(f"{text}; the memory of that session is not freed", ShadesmithWarning, stacklevel=3)

    def __del__(self) -> None:
        if getattr(self, "is_default", True) or self.is_closed:
            return
        several.remove(self)
        if not (self.is_inherited or self.stuck):  # nothing refers to it, so nothing runs in it
            self.epoch = CLOSED
            self._free()

    @property
    def is_inherited(self) -> bool:
        """Whether this process was forked from the session's, and has a device that does not survive that."""
        return self._process != os.getpid() and not self.device.survives_fork

    def _refuse_launches(self, seconds: float) -> bool:
        """Let launches fail; return whether those in progress have ended."""
        end = monotonic() + seconds
        while True:
            self.epoch = CLOSED
            if not self.wait_for_other_threads(max(0.0, end - monotonic())):
                self.epoch = CLOSED
                return False
            if self.epoch == CLOSED:  # else a launch that ended has counted itself, and another one may have started
                return True

    def _free(self) -> None:
        for owned in list(self.arrays):
            owned.end()
        self.staging.clear()
        self.pending.clear()  # stores that other threads made after the last `sync`: their memory is gone
        self.programs.close()
        self.is_closed = True
        self.device.close()

    def _abandon(self) -> None:
        """End all objects, but free nothing: something may still use it, or it belongs to another process."""
        self.epoch, self.is_closed = CLOSED, True
        keep_for_ever((self.device, [handle.allocation for handle in list(self.handles)], self.programs))
        for owned in list(self.arrays):
            owned.end()
        self.pending.clear()


# --- the source of modules

_sources_of_modules: ModuleSource = GeneratedOnly()


def install_sources(sources: ModuleSource) -> None:
    """Let sessions that start from now on choose modules by `sources`."""
    global _sources_of_modules
    _sources_of_modules = sources


def module_sources() -> ModuleSource:
    """Return the source of modules of the current session; before `ti.init()` the one that it would have."""
    session = active()
    return session.sources if session is not None else _sources_of_modules


# --- the current session

CURRENT: Session | None = None
"""The default session, if `ti.init()` was called; only `init` and `reset` set it. `active()` is the current one."""

STARTING = new_lock()
"""Held while a session ends and another one starts."""


def start(
    arch: Arch | Sequence[Arch] | str | None,
    device: int | str | None,
    test_mode: bool,
    enable_fallback: bool,
    require_version: str | None,
    on_compile: Callable[[Event], object] | None,
    options: dict[str, Any],
) -> Config | None:
    """Start the default session; see `starting.init`."""
    global CURRENT
    LISTENERS[:] = [] if on_compile is None else [on_compile]
    if require_version is not None:
        check_version(require_version)
    config, messages = read_config(options)
    for message in messages:
        warnings.warn(message, ShadesmithWarning, stacklevel=3)
    if test_mode:
        return config
    wanted, chosen = wanted_of(wanted_by_environment(os.environ) or arch, device)
    set_logging_level(config.log_level)
    with STARTING:
        reset()
        opened, config.arch, message = open_first(wanted, config, enable_fallback, chosen)
        CURRENT = Session.on_device(opened, config)
    if message:
        warnings.warn(message, ShadesmithWarning, stacklevel=3)
    LOGGER.info("Starting on arch=%s", config.arch.name)
    return None


def reset() -> None:
    """End the default session, if there is one: its memory is freed and its objects cannot be used any more.

    Launches of other threads in progress end first; their later ones raise TaichiRuntimeError.

    Example:
        >>> ti.reset()
        >>> ti.init(arch=ti.python)
    """
    _end_current(LONGEST_WAIT)


def _end_current(seconds: float) -> None:
    global CURRENT
    with STARTING:
        if CURRENT is not None:
            ending, CURRENT = CURRENT, None
            ending.close(seconds)


def sync() -> None:
    """Wait for all launches. Raises: TaichiRuntimeError before `ti.init()`, and if a launch failed.

    Example:
        >>> ti.sync()
    """
    session = active()
    if session is None:
        raise TaichiRuntimeError("Please call init() first")
    session.sync()


def current(purpose: str | None = None) -> Session:
    """Return the current session. purpose: what is about to be made, for the error message.

    Raises: TaichiRuntimeError before `ti.init()`.
    """
    session = active()
    if session is None:
        with STARTING:  # another thread may be starting one
            session = CURRENT
    if session is not None:
        if session.epoch == CLOSED and session is not CURRENT:
            raise closed_error(session)
        return session
    action = f"Cannot create {purpose}" if purpose else "There is no session"
    raise TaichiRuntimeError(f"{action}, maybe you forgot to call `ti.init()` first?", "`ti.init(arch=ti.cpu)`")


def active() -> Session | None:
    """Return the current session of this thread: that of the innermost `with`, else the default one; None without."""
    entered = ENTERED.get()
    return entered[-1] if entered else CURRENT


def closed_error(session: Session) -> TaichiRuntimeError:
    """Return the error for a use of a session that was closed."""
    return TaichiRuntimeError(f"{session.name} is closed", "make another one, `ti.Session(...)`")


def is_initialized() -> bool:
    """Return whether there is a session."""
    return active() is not None


def current_config() -> Config:
    """Return the options of the current session; before `ti.init()` those of a session without arguments.

    Raises: ValueError before `ti.init()`, for an environment variable that an option cannot take.
    """
    session = active()
    return session.config if session is not None else read_config({})[0]


def default_types() -> tuple[Scalar, Scalar, Scalar]:
    """Return the session's (default_fp, default_ip, default_up), or Taichi's before `ti.init()`."""
    session = active()
    config = session.config if session is not None else Config()
    return config.default_fp, config.default_ip, config.default_up


HARMLESS = (start.__code__, reset.__code__, current.__code__, Session.__init__.__code__)
"""Functions in which a thread waits for `STARTING`."""


def _end_all() -> None:
    """End all sessions at the end of the process, the default one last."""
    for session in sorted(several.OTHERS, key=lambda session: -session.number):
        session.close(LONGEST_WAIT_AT_EXIT)
    _end_current(LONGEST_WAIT_AT_EXIT)


atexit.register(_end_all)
