"""The child process itself: a device, copies of the memory of one call, and the sources that run on them.

In: messages of `runners.py`. Out: the memory after each run, or times. It trusts its program, and its program trusts
nothing that it sends.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from .....transpiler.backend.module.interface import BackendModule, TextureBinding
from .....transpiler.backend.module.read_module import read_module
from .....transpiler.errors import ReportedError, TaichiCompilationError
from .....transpiler.lang.textures import Format
from ....arrays.memory import Array
from ....arrays.texture import Texture
from ....devices.host_memory import available_bytes
from ....session import session as sessions
from ....session.session import Session
from ....session.starting import init
from ..harness import ReplicaSet
from ..replicas import Pointer, Recording, Region, Replicas
from ..texture_copies import Seen
from ..timing import measure
from .messages import Closed, Message, receive, send
from .sanitizers import ForbiddenMemory, with_sanitizers

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SHARE = 0.8
"""How much of the free memory a kernel of the host may take in addition to the copies."""
PR_SET_PDEATHSIG = 1

Arrays = list[Array]
Reply = tuple[Message, list[tuple[Array, bool]]]


@dataclass(frozen=True, slots=True)
class _Call:
    """The launch that is repeated, as far as copies of it need to know (`replicas.Launchable`)."""

    session: Session
    generated: BackendModule


class Child:
    """The state of the process."""

    def __init__(self) -> None:
        self.session: Any = None
        self._modules: dict[str, BackendModule] = {}
        self._recording: Any = None
        self._replicas: Any = None
        self._timed: Any = None
        self._memory: ForbiddenMemory | None = None

    def open(self, message: Message, arrays: Arrays) -> Reply:
        """Open the device."""
        init(message["arch"], enable_fallback=False, log_level="error", **message["options"])
        self.session = sessions.current()
        if message["sanitize"]:
            with_sanitizers(self.session.device, message["folder"])
            self._memory = ForbiddenMemory()
        return {"title": self.session.device.title}, []

    def module(self, message: Message, arrays: Arrays) -> Reply:
        """Take over and compile a module."""
        module = read_module(message["module"])
        self.session.programs.find(module)
        self._modules[message["key"]] = module
        return {}, []

    def call(self, message: Message, arrays: Arrays) -> Reply:
        """Take over the memory of a call; copies of an earlier one are freed."""
        self._recording = self._replicas = self._timed = None
        if self.session.device.lazy_memory:
            _limit_memory(sum(entry["size_bytes"] for entry in message["regions"]))
        regions = [
            Region(entry["name"], entry["begin"], entry["size_bytes"], entry["role"], None, contents, entry["is_lazy"])
            for entry, contents in zip(message["regions"], arrays, strict=False)
        ]
        pointers = [Pointer(offset, address, regions[k], slot) for offset, address, k, slot in message["pointers"]]
        textures = _textures(message["textures"], arrays[len(regions) :])
        launchable: Any = _Call(self.session, self._modules[message["generated"]])
        packed = bytes.fromhex(message["packed"])
        self._recording = Recording(launchable, packed, (), {}, tuple(regions), tuple(pointers), (), textures)
        self._replicas = Replicas(self._recording, self._memory)
        return {}, []

    def run(self, message: Message, arrays: Arrays) -> Reply:
        """Run a module once on copies; the contents that have not changed are not sent back."""
        regions = self._recording.regions
        prepared = {regions[k]: array for k, array in zip(message["prepared"], arrays, strict=True)}
        begin = time.perf_counter()
        pattern = message["pattern"]
        outcome = self._replicas.run(
            self._modules[message["key"]], message["counts"], pattern,
            lambda region, contents: prepared.get(region, contents),
        )  # fmt: skip
        seconds = time.perf_counter() - begin
        changed: list[int] = []
        found: list[tuple[Array, bool]] = []
        for number, region in enumerate(regions):
            given = prepared.get(region, region.contents)
            known = region.role not in ("temporaries", "result") and not region.is_lazy
            if not known or not np.array_equal(given, outcome.contents[region]):
                changed.append(number)
                found.append((outcome.contents[region], region.is_lazy))
        texels = [values.array for values in outcome.textures]
        found += [(np.ascontiguousarray(array).view(np.uint8).reshape(-1), False) for array in texels]
        reply = {
            "seconds": seconds,
            "changed": changed,
            "trespasses": [
                [regions.index(t.region), t.is_after, t.offset_bytes, t.count_bytes] for t in outcome.trespasses
            ],
            "texels": [[array.dtype.str, array.shape] for array in texels],
        }
        return reply, found

    def time(self, message: Message, arrays: Arrays) -> Reply:
        """Time modules alternately on copies."""
        modules = [self._modules[key] for key in message["keys"]]
        if self._timed is None:
            self._timed = ReplicaSet(self._recording)
        timer = self.session.device.timer()
        try:
            harness = self._timed.harness(modules, timer, message["counts"])
            columns = measure(
                harness.sample, len(modules), message["seconds"], message["confidence"], message["precision"]
            )
        finally:
            timer.close()
        return {"columns": columns, "repeats": harness.repeats, "clock": timer.clock}, []


def _textures(entries: list[dict[str, Any]], arrays: Arrays) -> tuple[Seen, ...]:
    """Return textures like those of the call; entries of one number are of one texture."""
    made: dict[int, Texture] = {}
    found = []
    for entry in entries:
        number, contents = entry["number"], arrays[entry["number"]]
        if number not in made:
            options = {"filter": entry["filter"], "address": entry["modes"]}
            made[number] = Texture(Format[entry["format"]], tuple(entry["shape"]), **options)
        slot = TextureBinding(**entry["slot"])
        found.append(Seen(slot, made[number], contents))
    return tuple(found)


def main(descriptor: int, parent: int) -> None:
    """Answer requests until the program closes the connection. parent: its process."""
    _prepare(parent)
    connection = socket.socket(fileno=descriptor)
    child = Child()
    requests: dict[str, Callable[[Message, Arrays], Reply]] = {
        "open": child.open, "module": child.module, "call": child.call, "run": child.run, "time": child.time,
    }  # fmt: skip
    with suppress(Closed):
        while True:
            message, arrays = receive(connection)
            try:
                reply, found = requests[message.pop("do")](message, arrays)
            except Exception as error:
                reply, found = _as_error(error), []
            send(connection, reply, found)
    sys.stdout.flush()
    os._exit(0)  # the device may be lost, and would be waited for


def _as_error(error: Exception) -> Message:
    """Return an error as a reply. ends: the device may be lost, so the process is not used any more."""
    is_reported = isinstance(error, ReportedError)
    is_compilation = isinstance(error, TaichiCompilationError)
    message = getattr(error, "message", None) if is_reported else traceback.format_exc()
    hint = getattr(error, "hint", None) if is_reported else None
    text = {"message": message or str(error), "hint": hint, "is_compilation": is_compilation}
    return {"error": {**text, "ends": not is_compilation}}


def _limit_memory(copies_bytes: int) -> None:
    """Let allocations fail before the system runs out of memory."""
    if resource is None:
        return
    with suppress(ValueError, OSError):
        free = available_bytes()
        with open("/proc/self/statm") as file:
            data_bytes = int(file.read().split()[5]) * resource.getpagesize()
        if free is not None:
            most = data_bytes + 4 * copies_bytes + int(SHARE * free)
            resource.setrlimit(resource.RLIMIT_DATA, (most, resource.getrlimit(resource.RLIMIT_DATA)[1]))


def _prepare(parent: int) -> None:
    """End with the program, leave no core files, and let the system end this process first if memory runs out."""
    with suppress(ValueError, OSError):
        if resource is not None:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write("1000")
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
