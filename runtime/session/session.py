"""`ti.init`, `ti.reset`, `ti.sync`: one device, its options, and everything that lives on it.

In: an architecture and options. Out: the current `Session`. Fields and ndarrays belong to the session that made them;
when it ends, their memory is freed and using them raises.

A launcher has two statements in every launch, inlined for speed: `if session.pending: session.flush_pending()` before
it writes back what Python changed in mirrors, and `session.epoch += 1` after it marks views of memory as stale.
"""

from __future__ import annotations

import atexit
import gc
import logging
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from weakref import WeakSet, ref

from ...transpiler.errors import ShadesmithWarning, TaichiRuntimeError, as_seen_by_user
from ...transpiler.ir.types import Scalar
from ...transpiler.lang import arch as arches
from ...transpiler.lang.arch import ARCHES, Arch
from ..config import Config, read_config
from ..devices.device import Allocation, Device, OutOfMemory
from ..devices.opening import store_for
from ..devices.target_tools import TARGETS, tools_of
from ..locks import new_lock
from ..store.stats import LISTENERS, Event
from .allocation_handle import CLOSED, AllocationHandle, OwnerNames, StagingPool
from .module_source import Choice, GeneratedOnly, Launch, Recompiled
from .other_threads import keep_for_ever, wait_for_other_threads
from .programs import Programs
from .versions import check_version

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ...transpiler.frontend.source.specialization import Specialization

T = TypeVar("T")

LOGGER = logging.getLogger("shadesmith")
TRACE_LEVEL = 5
LEVELS = {
    "trace": TRACE_LEVEL,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "off": logging.CRITICAL + 10,
}
"""Taichi's names of levels, as `ti.init(log_level=...)` takes them."""

FALLBACK_HINT = "leave out `enable_fallback=False` to run"
"""Start of the last line of the message that `ti.init` raises if no device opens."""

LONGEST_WAIT, LONGEST_WAIT_AT_EXIT = 10.0, 1.0
"""How long the end of a session waits for launches of other threads [s]."""


class Owned(Protocol):
    """An object that lives in a session and is ended with it."""

    def end(self) -> None:
        """Free memory and refuse further use."""


class Watched(Protocol):
    """An object that detects failures of earlier launches."""

    def check(self) -> None:
        """Raise the failure of an earlier launch, if there is one."""


class ModuleSource(Protocol):
    """Decides which module of a kernel runs: the generated one, or an edit of it.

    Kernels can be inspected before `ti.init`, so `digest` and `archived` take a configuration.
    """

    def choose(
        self,
        session: Session,
        specialization: Specialization,
        argument_kinds: Sequence[str],
        compilation: Compilation,
        args: Sequence[Any],
        wanted: str | None = None,
    ) -> Choice:
        """Return what a launch with these arguments runs.

        kinds: how a launcher reads each argument. wanted: the name of a variant.
        Raises: TaichiCompilationError for an edit that cannot run; TaichiRuntimeError for a missing variant.
        """

    def follow(
        self, launch: Launch, choice: Choice, kernel: ref[Recompiled], key: Any, config: Config
    ) -> Launch | None:
        """Return a launcher that replaces `launch` because the choice may change; None if it cannot."""

    def digest(self, config: Config, specialization: Specialization, generated: Callable[[], BackendModule]) -> str:
        """Return a digest of the module that replaces the generated one, "" if none does."""

    def archived(
        self, config: Config, specialization: Specialization, module: BackendModule
    ) -> tuple[BackendModule, str]:
        """Return the module for an archive of another device than the session's, and the digest of its edit or ""."""


class Session:
    """A device and what runs on it.

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
    """

    __slots__ = (
        "__weakref__",
        "arch",
        "arrays",
        "compiled_functions",
        "config",
        "device",
        "epoch",
        "fields_with_derivatives",
        "handles",
        "is_closed",
        "launches",
        "_process",
        "_watches",
        "lock",
        "options",
        "pending",
        "programs",
        "reports",
        "sources",
        "staging",
        "store",
        "waited",
        "watched",
    )

    def __init__(self, device: Device, arch: Arch, config: Config) -> None:
        self.device = device
        self.arch = arch
        self.config = config
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
        name_owners = getattr(device, "name_owners", None)
        if name_owners is not None:
            name_owners(OwnerNames(self.handles))

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
        return self.obtain(lambda: self.device.allocate(size_bytes, lazily), owner)

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
        return wait_for_other_threads(seconds, HARMLESS)

    def close(self, seconds: float = LONGEST_WAIT) -> None:
        """End all objects of the session, then the device.

        Later launches fail; those of other threads in progress may end first. seconds: how long to wait for them.
        """
        if self.is_closed or self.epoch == CLOSED:
            return
        if self.is_inherited:
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
    return CURRENT.sources if CURRENT is not None else _sources_of_modules


# --- the current session

CURRENT: Session | None = None
"""The session, if `ti.init()` was called. Read it, or better `current()`; only `init` and `reset` set it."""

STARTING = new_lock()
"""Held while a session ends and another one starts."""


def init(
    arch: Arch | Sequence[Arch] | str | None = None,
    default_fp: Any = None,
    default_ip: Any = None,
    _test_mode: bool = False,
    enable_fallback: bool = True,
    require_version: str | None = None,
    on_compile: Callable[[Event], object] | None = None,
    **kwargs: Any,
) -> Config | None:
    """Start a session: open a device and end the session before, with all its fields and ndarrays.

    arch: an architecture, a list of which the first that opens is taken (`ti.gpu`), or a name; `ti.cpu` by default.
      SHADESMITH_ARCH or TI_ARCH overrides it.
    enable_fallback: warn and use the CPU if the device is missing, else raise.
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
    LISTENERS[:] = [] if on_compile is None else [on_compile]
    try:
        return _start(arch, default_fp, default_ip, _test_mode, enable_fallback, require_version, kwargs)
    except (TaichiRuntimeError, KeyError, ValueError, TypeError) as error:
        if kwargs.get("print_full_traceback"):
            raise
        __tracebackhide__ = True  # for pytest and IPython, as in `tracebacks.py`
        raise as_seen_by_user(error) from None


def _start(
    arch: Arch | Sequence[Arch] | str | None,
    default_fp: Any,
    default_ip: Any,
    test_mode: bool,
    enable_fallback: bool,
    require_version: str | None,
    kwargs: dict[str, Any],
) -> Config | None:
    """Start a session; see `init`."""
    global CURRENT
    if require_version is not None:
        check_version(require_version)
    config, messages = read_config({"default_fp": default_fp, "default_ip": default_ip, **kwargs})
    for message in messages:
        warnings.warn(message, ShadesmithWarning, stacklevel=3)
    if test_mode:
        return config
    wanted = _wanted(arch, os.environ)
    set_logging_level(config.log_level)
    with STARTING:
        reset()
        device, config.arch, message = _open(wanted, config, enable_fallback)
        CURRENT = Session(device, config.arch, config)
    if message:
        warnings.warn(message, ShadesmithWarning, stacklevel=3)
    LOGGER.info("Starting on arch=%s", config.arch.name)
    return None


def reset() -> None:
    """End the current session, if there is one: its memory is freed and its objects cannot be used any more.

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
    session = CURRENT
    if session is None:
        raise TaichiRuntimeError("Please call init() first")
    session.sync()


def current(purpose: str | None = None) -> Session:
    """Return the current session. purpose: what is about to be made, for the error message.

    Raises: TaichiRuntimeError before `ti.init()`.
    """
    session = CURRENT
    if session is None:
        with STARTING:  # another thread may be starting one
            session = CURRENT
    if session is not None:
        return session
    action = f"Cannot create {purpose}" if purpose else "There is no session"
    raise TaichiRuntimeError(f"{action}, maybe you forgot to call `ti.init()` first?", "`ti.init(arch=ti.cpu)`")


def is_initialized() -> bool:
    """Return whether there is a session."""
    return CURRENT is not None


def current_config() -> Config:
    """Return the options of the current session; before `ti.init()` those of a session without arguments.

    Raises: ValueError before `ti.init()`, for an environment variable that an option cannot take.
    """
    return CURRENT.config if CURRENT is not None else read_config({})[0]


def default_types() -> tuple[Scalar, Scalar, Scalar]:
    """Return the session's (default_fp, default_ip, default_up), or Taichi's before `ti.init()`."""
    config = CURRENT.config if CURRENT is not None else Config()
    return config.default_fp, config.default_ip, config.default_up


def set_logging_level(level: str) -> None:
    """Set the level of the logger `shadesmith`. Raises: TaichiRuntimeError for an unknown name.

    level: "trace", "debug", "info", "warn", "error" or "critical".

    Example:
        >>> ti.set_logging_level("warn")
    """
    if level.lower() not in LEVELS:
        raise TaichiRuntimeError(f"Unknown logging level [{level}]. Levels = {', '.join(LEVELS)}")
    LOGGER.setLevel(LEVELS[level.lower()])


def is_logging_effective(level: str) -> bool:
    """Return whether messages of a level are logged.

    Example:
        >>> ti.is_logging_effective("error")
        True
    """
    return LOGGER.isEnabledFor(LEVELS[level.lower()])


# --- choosing a device


def _wanted(arch: Arch | Sequence[Arch] | str | None, environment: Mapping[str, str]) -> tuple[Arch, ...]:
    name = environment.get("SHADESMITH_ARCH") or environment.get("TI_ARCH")
    if name:
        LOGGER.info("Following the environment: arch=%s", name)
        arch = name
    if arch is None:
        return (arches.cpu,)
    if isinstance(arch, str):
        if arch == "gpu":
            return tuple(arches.gpu)
        if arch not in ARCHES:
            close = get_close_matches(arch, ["gpu", *ARCHES], 1)
            meant = f"did you mean `{close[0]}`? " if close else ""
            raise TaichiRuntimeError(f"Arch={arch} is not known", f"{meant}Known are: gpu, {', '.join(ARCHES)}")
        return (ARCHES[arch],)
    found = (arch,) if isinstance(arch, Arch) else tuple(arch)
    for item in found:
        if not isinstance(item, Arch):
            raise TypeError(f"`arch` of ti.init takes ti.cpu, ti.gpu, ti.vulkan, ti.cuda, ..., and {item!r} was given")
    return found


def _open(wanted: tuple[Arch, ...], config: Config, enable_fallback: bool) -> tuple[Device, Arch, str]:
    """Return the first device that opens, its architecture, and a warning if it is not one of those wanted."""
    missing: list[str] = []
    for arch in wanted:
        device = _try(arch, config, len(wanted) == 1, missing)
        if device is not None:
            return device, arch, ""
    shown = list(wanted)
    reasons = "".join(f"\n  {reason}" for reason in missing)
    if not enable_fallback:
        raise TaichiRuntimeError(
            f"Arch={shown} is not supported{reasons}", f"{FALLBACK_HINT} {_fallback(wanted)} instead"
        )
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


def _try(arch: Arch, config: Config, only: bool, missing: list[str]) -> Device | None:
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
        return OPENERS[arch.target](config, only)
    except TaichiRuntimeError as error:
        missing.append(f"{arch.name}: {error}")
        return None


def _opener(target: str) -> Callable[[Config, bool], Device]:
    return lambda config, software: tools_of(target).open_device(config, software)


OPENERS = {target: _opener(target) for target in TARGETS}
"""Functions that open the device of each target. The flag: whether a software driver is acceptable."""

HARMLESS = (init.__code__, reset.__code__, current.__code__)
"""Functions in which a thread waits for `STARTING`."""


atexit.register(_end_current, LONGEST_WAIT_AT_EXIT)
