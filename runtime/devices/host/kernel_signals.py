"""Errors instead of crashes: accesses outside all arrays, and Ctrl-C in a kernel that does not end.

In: loaded kernels. Out: after a launch `attention` is not 0 if something happened, and `raise_errors` raises the error.

`kernel_signals.c` has the signal handlers and says how they work. It is compiled once by the host's compiler, while the
first kernel is, and then found in the cache. Without it (other systems and processors) such accesses end the process.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from ....transpiler.errors import LaunchTimeoutError, TaichiCompilationError, TaichiRuntimeError
from ...locks import new_lock
from ...store.compiler_files import c_compiler_identity
from ...store.store import Store, package_store
from ..device import WATCHDOG_HINT, format_size
from ..host_arrays import view_address
from .compiler import HostCompiler, Library, compiler_process, load_library
from .guarded_memory import GUARDED, Guards, Mapping, has_guards, lasting_memory

SOURCE = Path(__file__).with_name("kernel_signals.c")
FLAGS = ("-std=gnu11", "-O1", "-fPIC", "-shared", "-w")
"""The first launch of all waits for this compilation: .24 s, and .37 with -O2."""
FAULTS, WINDOWS, LIBRARIES = 64, 2048, 8192
"""As in the source."""
HINT = "`ti.init(debug=True)` checks all indices, and names the line and the index"
EXPIRED = 2
"""Why threads left a library: its launch took longer than the watchdog allows."""
LEFT = {
    4: ("needs more stack than its thread has", "look for a recursion that does not end, or make local arrays smaller"),
    8: (
        "executed an instruction that traps, such as a division of an integer by zero",
        "ti.init(check_overflow=True) names the line of a division by zero",
    ),
    16: ("accessed memory that cannot be accessed", HINT),
}
"""The same for the other reasons, as messages with hints."""

OwnerOf = Callable[[int], "tuple[str, int] | None"]
"""Returns owner and bytes of an element of the allocation at an address."""


class Fault(ctypes.Structure):
    """One access outside memory."""

    _fields_ = (
        ("address", ctypes.c_uint64),
        ("instruction", ctypes.c_uint64),
        ("library", ctypes.c_int32),
        ("writes", ctypes.c_int32),
    )


class _Window(ctypes.Structure):
    _fields_ = (("address", ctypes.c_uint64), ("size", ctypes.c_uint64))


class _Guard(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("low", "first", "end", "high"))


class _LoadedLibrary(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("start", "end", "left", "deadline", "launches")),
        ("name", ctypes.c_char * 104),
    )


class _State(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("attention", "lock", "scratch")),
        *((name, ctypes.c_uint32) for name in ("fault_count", "window_count")),
        ("interrupts", ctypes.c_int32),
        ("faults", Fault * FAULTS),
        ("windows", _Window * WINDOWS),
        ("guards", _Guard * GUARDED),
        ("libraries", _LoadedLibrary * LIBRARIES),
    )


_address = lasting_memory(ctypes.sizeof(_State))
attention = ctypes.c_int32.from_address(_address + _State.attention.offset)
"""Is true if `raise_errors` has something to do. A launch looks at it, which takes 10 ns."""
_table = view_address(_address + _State.guards.offset, np.dtype(np.uint64), (GUARDED, 4))
guards: Guards | None = Guards(_table) if has_guards() else None
"""The guards of this process, None where the system has none."""


class _Handlers:
    """The functions of the compiled source."""

    def __init__(self, library: Library) -> None:
        number, size = ctypes.c_int, ctypes.c_uint64
        self.install = library.typed_function("install", number, ctypes.c_void_p, number)
        self.add_library = library.typed_function("add_library", number, size, ctypes.c_char_p)
        self.add_driver = library.typed_function("add_driver", number, ctypes.c_void_p, ctypes.c_void_p)
        self.remove_library = library.typed_function("remove_library", None, number)
        self.take_faults = library.typed_function(
            "take_faults", number, ctypes.c_void_p, number, ctypes.c_void_p, ctypes.c_void_p
        )
        self.unmap = library.typed_function("unmap", None, number, size, size)
        self.watch = library.typed_function("watch", number, ctypes.c_void_p, number, size)


_handlers: _Handlers | None = None
_is_missing = not has_guards()
_lock = new_lock()


class Starting:
    """The handlers, being compiled while the first kernel is."""

    def __init__(self, compiler: HostCompiler, store: Store | None) -> None:
        self._compiler, self._store = compiler, store or package_store()
        self._binary: bytes | None = None
        self._thread: threading.Thread | None = None
        if _handlers is None and not _is_missing:
            self._start()

    def _start(self) -> None:
        text = SOURCE.read_text(encoding="utf-8")
        entry = None
        if self._store is not None:
            identity = c_compiler_identity(self._compiler.command, self._store)
            self._material = "\n".join((identity, *FLAGS, text)).encode()
            entry = self._store.look("tools", self._material)[0]
        if entry is not None and entry.parts:
            (self._binary,) = entry.parts.values()
            return
        self._thread = threading.Thread(target=self._compile, args=(text,), daemon=True)
        self._thread.start()

    def _compile(self, text: str) -> None:
        process = compiler_process()
        with (
            contextlib.suppress(OSError, TaichiRuntimeError, TaichiCompilationError),
            process.private_folder() as folder,
        ):
            output = os.path.join(folder, "kernel_signals.so")
            command = (*self._compiler.command, *FLAGS, "-x", "c", "-", "-o", output)
            if process.run_tools([command], text, folder)[0][0] == 0:
                self._binary = Path(output).read_bytes()
                if self._store is not None:
                    self._store.put("tools", self._material, {}, {"kernel_signals.so": self._binary}, "kernel_signals")

    def finish(self) -> None:
        """Install the handlers, or install them again if the program has replaced them."""
        global _handlers, _is_missing
        if self._thread is not None:
            self._thread.join()
        with _lock:
            if _handlers is None and not _is_missing:
                _handlers = _loaded(self._binary)
                _is_missing = _handlers is None
            if _handlers is not None:
                _handlers.install(_address, _python_handles_interrupts())


def _loaded(binary: bytes | None) -> _Handlers | None:
    if binary is None:
        return None
    try:
        library = load_library(binary)
        library.stays_loaded = True  # the system calls it until the process has ended
        handlers = _Handlers(library)
    except (OSError, TaichiRuntimeError):
        return None
    if handlers.install(_address, 0):
        return None
    if guards is not None:
        guards.unmap = handlers.unmap
    return handlers


def _python_handles_interrupts() -> bool:
    """Return whether Ctrl-C raises KeyboardInterrupt; other handlers of a program may want the kernel to end."""
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


def add_library(library: Library, kernel: str, entry: str) -> None:
    """Handle signals in a kernel's library, until it is unloaded."""
    if _handlers is None or library.number >= 0:
        return
    number = _handlers.add_library(library.address(entry), kernel.encode()[:100])
    if number >= 0:
        library.number, library.remove = number, _handlers.remove_library


def add_driver(disassembler: int, disassemble: int) -> int:
    """Handle accesses outside memory by shaders of lavapipe; return its number as a library, -1 if that fails.

    disassembler, disassemble: a context of LLVM's disassembler, and the function that returns an instruction's length.
    """
    return -1 if _handlers is None else _handlers.add_driver(disassembler, disassemble)


def watch_function() -> Callable[[object, int, int], int] | None:
    """Return the function that gives launches a time limit, None where kernels cannot be stopped."""
    return None if _handlers is None else _handlers.watch


class Numbered(Protocol):
    """What has a number among the libraries of kernels."""

    number: int


def raise_errors(kernel: str, libraries: Sequence[Numbered], owner_of: OwnerOf, expired: str = "") -> None:
    """Raise the error of a launch that has ended, if there is one. expired: what is said of one that took too long.

    Raises: TaichiRuntimeError for accesses outside memory; KeyboardInterrupt if Ctrl-C stopped the kernel;
    LaunchTimeoutError if the watchdog did.
    """
    if _handlers is None:
        return
    numbers = list({library.number for library in libraries if library.number >= 0})
    own = (ctypes.c_int32 * len(numbers))(*numbers)
    taken, left = (Fault * FAULTS)(), ctypes.c_int32()
    count = _handlers.take_faults(own, len(numbers), taken, ctypes.byref(left))
    for reason, (message, hint) in LEFT.items():
        if left.value & reason:
            text = f"kernel `{kernel}` {message}. It was stopped; what it computes is incomplete"
            raise TaichiRuntimeError(text, hint)
    if left.value & EXPIRED:
        raise LaunchTimeoutError(expired, WATCHDOG_HINT)
    if left.value:
        raise KeyboardInterrupt(f"kernel `{kernel}` was stopped; what it computes is incomplete")
    if count:
        raise TaichiRuntimeError(_describe(kernel, taken[:count], owner_of), HINT)


def _describe(kernel: str, faults: Sequence[Fault], owner_of: OwnerOf) -> str:
    """Return the message for accesses outside memory."""
    found = [(guards.find(fault.address) if guards is not None else None, fault) for fault in faults]
    mapping, nearest = min(found, key=lambda pair: _bytes_outside(*pair))
    more = ", and elsewhere" if len(found) > 1 else ""
    how = {0: "read", 1: "wrote"}.get(nearest.writes, "accessed")
    if mapping is None:
        place = f"address 0x{nearest.address:x}, which belongs to no array"
    else:
        owner, item_bytes = owner_of(mapping.start) or ("an array", 0)
        place = f"{_distance(mapping, nearest.address, item_bytes)} of {owner} ({format_size(mapping.size_bytes)})"
    return (
        f"kernel `{kernel}` {how} out of bounds: {place}{more}. It ran to its end; such stores are dropped, and such "
        "loads have no defined value"
    )


def _bytes_outside(mapping: Mapping | None, fault: Fault) -> int:
    """Return how far outside of a mapping's data an address is."""
    if mapping is None:
        return sys.maxsize
    address = int(fault.address)
    return max(mapping.start - address, address - mapping.start - mapping.size_bytes)


def _distance(mapping: Mapping, address: int, item_bytes: int) -> str:
    """Return how far an address is outside of a mapping's data."""
    offset = address - mapping.start
    count, unit = (1, "bytes") if item_bytes < 2 else (item_bytes, "elements")
    if offset < 0:
        return f"{-(offset // count):,} {unit} before the start"
    return f"{(offset - mapping.size_bytes) // count + 1:,} {unit} behind the end"


def is_installed() -> bool:
    """Return whether accesses outside memory become errors in this process."""
    return _handlers is not None and sys.platform == "linux"
