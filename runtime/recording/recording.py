"""`ti.aot.start_recording(file)`: records every kernel that is compiled and launched from here on, to replay it.

In: the program's own launches. Out: `record.yml`, which a person can read, and next to it a folder `record` with the
emitted sources and the contents of arrays. `shadesmith replay record.yml` (`replaying.py`) launches all of it again
without the program and compares the results. See docs/recording.md.

    sessions: arch, options       one per `ti.init`
      memory: name, size_bytes    one per array or buffer, by number
      launches: kernel, iteration counts (`turns`), packed arguments and the positions of addresses in them;
        before: [memory, digest]  contents that the program had written since the previous launch
        after: [memory, digest]   contents that the launch changed
    kernels: name, location in Python, tasks, folder with `module.json` and the sources

The recorder is an observer of calls and of launches (`kernel.CALL_OBSERVERS`, `instance.LAUNCH_OBSERVERS`) from
`start_recording` to `stop_recording`; at other times it has no overhead.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...transpiler.errors import TaichiRuntimeError
from ..arrays.memory import Array
from ..events import CALL_OBSERVERS
from ..fields.auxiliary_array import AuxiliaryArray
from ..launch.instance import LAUNCH_OBSERVERS, Instance
from ..launch.kernel import Kernel
from ..locks import new_lock
from ..store.atomic_files import write_text
from ..workbench.measure.replicas import POINTERS, Launchable, Region, StandIn, read_region, taken
from .yaml_subset import dump_yaml, load_yaml

if TYPE_CHECKING:
    from ...transpiler.backend.module.compilation import Compilation
    from ...transpiler.backend.module.interface import BackendModule
    from ..session.session import Session

FORMAT, VERSION = "shadesmith-recording", 1
ZEROS = "zeros"
"""Used as a digest if every byte is 0; there is no file."""
MAX_BYTES = 1 << 31
"""Limit for one array; launches with a larger one are not recorded and not replayed."""
KNOWN_SOURCES = frozenset({*POINTERS, "argument", "shape", "stride", "begin", "seed", "capacity", "divisor"})
"""Sources of members of `Args` that a replay can pack."""
_LOCK = new_lock()


def start_recording(filename: str | os.PathLike[str]) -> None:
    """Record all kernels that are compiled and launched until `stop_recording`, or until Python ends.

    It may come before `ti.init`. Launches take longer meanwhile, since the arrays they read and write are stored.

    Args:
        filename: YAML file to write, by convention `*.yml`; sources and contents of arrays go to a folder of the same
            name without its suffix. An older recording there is replaced.

    Raises: TaichiRuntimeError if a recording is running; OSError.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = i
        >>> ti.aot.start_recording("fill.yml")
        >>> fill(ti.ndarray(ti.f32, 4))
        >>> ti.aot.stop_recording()
    """
    global _RECORDER
    with _LOCK:
        if _RECORDER is not None:
            raise TaichiRuntimeError(
                f"{_RECORDER.path} is being recorded", "call ti.aot.stop_recording() before the next recording"
            )
        _RECORDER = Recorder(Path(filename))
        _RECORDER.attach()
    atexit.register(_stop_at_exit)


def stop_recording() -> None:
    """Write the recording since `start_recording`. Raises: TaichiRuntimeError if there is none; OSError.

    Example:
        >>> @ti.kernel
        ... def fill(x: ti.types.ndarray(ti.f32, 1)):
        ...     for i in x:
        ...         x[i] = i
        >>> ti.aot.start_recording("fill.yml")
        >>> fill(ti.ndarray(ti.f32, 4))
        >>> ti.aot.stop_recording()
    """
    global _RECORDER
    with _LOCK:
        if _RECORDER is None:
            raise TaichiRuntimeError("nothing is being recorded", "call ti.aot.start_recording('record.yml') first")
        recorder, _RECORDER = _RECORDER, None
        recorder.detach()
        recorder.write()
    atexit.unregister(_stop_at_exit)


def _stop_at_exit() -> None:
    if _RECORDER is not None:
        stop_recording()


@dataclass(frozen=True, slots=True)
class _Call(Launchable):
    """One launch in the form that `replicas` needs."""

    session: Session
    specialization: Any
    compilation: Compilation
    argument_kinds: Sequence[str]
    args: Sequence[Any]
    generated: BackendModule


class Recorder:
    """Collects the launches of a recording. path: of the YAML file."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        if self.path.suffix == "":
            hint = f"name it `{path}.yml`, since `{path}` becomes the folder next to it"
            raise TaichiRuntimeError(f"`{path}` has no suffix", hint)
        self.folder = self.path.with_suffix("")
        self.kernels: dict[str, dict[str, Any]] = {}
        self.sessions: list[_RecordedSession] = []
        self._known: set[Kernel] = set()
        self._lock = new_lock()
        _remove_recording(self.path)
        if self.folder.exists() and (not self.folder.is_dir() or any(self.folder.iterdir())):
            raise TaichiRuntimeError(f"{self.folder} is not empty", "name a recording whose folder is free")
        (self.folder / "memory").mkdir(parents=True, exist_ok=True)

    def attach(self) -> None:
        """Observe the calls of all kernels, and the launches of all launchers that are made from now on."""
        CALL_OBSERVERS.append(self.on_call)
        LAUNCH_OBSERVERS.append(self)

    def detach(self) -> None:
        """Stop observing, and let kernels forget the observed launchers."""
        CALL_OBSERVERS.remove(self.on_call)
        LAUNCH_OBSERVERS.remove(self)
        for kernel in self._known:
            kernel.forget_launchers()
        self._known.clear()

    def on_call(self, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Let a kernel that was compiled before make a new launcher."""
        with self._lock:
            if kernel not in self._known:
                self._known.add(kernel)
                kernel.forget_launchers()

    def observe(
        self, instance: Instance, program: Any, compilation: Compilation, argument_kinds: Sequence[str]
    ) -> Watched | None:
        """Return the observation that records the launches of an instance."""
        if isinstance(program, StandIn):  # a simulated launch of the workbench
            return None
        watched = Watched(self, instance, program, compilation, argument_kinds)
        watched.name(self)  # here, since a kernel may be compiled and not launched
        return watched

    def kernel_id(self, instance: Instance, module: BackendModule) -> str:
        """Return the name of a compiled kernel in the recording; the first call writes the kernel."""
        data = json.dumps(module.to_json(), sort_keys=True)
        name = f"{re.sub('[^A-Za-z0-9_]', '_', module.kernel)}-{sha256(data.encode()).hexdigest()[:8]}"
        with self._lock:
            if name not in self.kernels:
                self.kernels[name] = _described(instance, module)
                if module.program is None:
                    self._write_module(self.folder / name, module)
        return name

    def _write_module(self, folder: Path, module: BackendModule) -> None:
        """Write the sources as files, and the rest as JSON that refers to them."""
        data = module.to_json()
        for file in data["files"]:
            write_text(folder / file["name"], file["text"])
            file["text"] = ""
        write_text(folder / "module.json", json.dumps(data, indent=1) + "\n")

    def launch(self, watched: Watched, counts: Sequence[int], run: Callable[[], None]) -> None:
        """Run one launch, and record the memory before and after."""
        call = watched.call()
        if call is None:  # not a call by the user: a replica, a measurement
            run()
            return
        with self._lock:
            session = self._session(call.session)
            entry: dict[str, Any] = {"kernel": watched.name(self)}
            entry["arguments"] = _shown_arguments(watched.instance, call.args)
            entry["turns"] = list(counts)
            reason = _not_replayable(call)
            session.launches.append(entry)
            if reason:
                entry["left_out"] = reason
                run()
                return
            session.record(entry, call, bytes(watched.arguments[: call.generated.interface.args_size_bytes]), run)

    def store(self, contents: Array) -> str:
        """Write the contents of an array to a file and return their digest."""
        digest = digest_of(contents)
        path = self.folder / "memory" / f"{digest}.bin"
        if digest != ZEROS and not path.exists():
            path.write_bytes(contents.tobytes())
        return digest

    def _session(self, session: Session) -> _RecordedSession:
        if not self.sessions or self.sessions[-1].session is not session:
            self.sessions.append(_RecordedSession(self, session))
        return self.sessions[-1]

    def write(self) -> None:
        """Write the file."""
        data: dict[str, Any] = {"format": FORMAT, "version": VERSION}
        data["sessions"] = [session.data() for session in self.sessions]
        data["kernels"] = [{"id": name, **entry} for name, entry in self.kernels.items()]
        write_text(self.path, dump_yaml(data))


class _RecordedSession:
    """The launches between two `ti.init`, and the contents of their memory after the last of them."""

    def __init__(self, recorder: Recorder, session: Session) -> None:
        self.session = session
        self.launches: list[dict[str, Any]] = []
        self._recorder = recorder
        self._memory: dict[tuple[int, int], int] = {}
        self._entries: list[dict[str, Any]] = []
        self._digests: list[str] = []
        self._last: list[Array | None] = []

    def record(self, entry: dict[str, Any], call: _Call, packed: bytes, run: Callable[[], None]) -> None:
        """Add the contents of memory before and after the launch to `entry`."""
        found = taken(call, packed)
        large = next((region for region in found.regions if region.size_bytes > MAX_BYTES or region.is_lazy), None)
        if large is not None:
            entry["left_out"] = f"`{large.name}` takes {large.size_bytes} bytes"
            run()
            return
        numbers = {region: self._number(region, call) for region in found.regions}
        blank = bytearray(packed)
        for pointer in found.pointers:
            blank[pointer.offset_bytes : pointer.offset_bytes + 8] = bytes(8)
        entry["packed"] = blank.hex()
        entry["pointers"] = [[p.offset_bytes, numbers[p.region], p.address - p.region.begin] for p in found.pointers]
        data = [region for region in found.regions if region.role == "data"]
        changed = [(region, self._recorder.store(region.contents)) for region in data]
        entry["before"] = [[numbers[r], d] for r, d in changed if self._digests[numbers[r]] != d]
        run()
        self.session.device.synchronize()
        entry["after"] = []
        for region, before in changed:
            contents = read_region(self.session, region)
            after = digest_of(contents)
            self._digests[numbers[region]], self._last[numbers[region]] = after, contents
            if after != before:
                entry["after"].append([numbers[region], after])

    def _number(self, region: Region, call: _Call) -> int:
        key = region.begin, region.size_bytes
        number = self._memory.get(key)
        if number is None:
            number = self._memory[key] = len(self._entries)
            entry = {"name": region.name, "size_bytes": region.size_bytes, "role": region.role}
            element = _element_of(call.generated, region)
            self._entries.append(entry | ({"element": element} if element else {}))
            self._digests.append(ZEROS)
            self._last.append(None)
        return number

    def data(self) -> dict[str, Any]:
        """Return the session's data for the file; also store the final contents of memory, for comparison."""
        for entry, contents in zip(self._entries, self._last, strict=True):
            if contents is not None:
                entry["last"] = self._recorder.store(contents)
        config = self.session.config
        options = {"fast_math": config.fast_math, "debug": config.debug}
        device = {"arch": self.session.device.name, "device": self.session.device.title, "options": options}
        return {**device, "memory": self._entries, "launches": self.launches}


class Watched:
    """The launches of one launcher (`instance.ObservedLaunches`), and the program that it submits to: it passes each
    launch to the recorder, which runs it."""

    def __init__(
        self,
        recorder: Recorder,
        instance: Instance,
        program: Any,
        compilation: Compilation,
        argument_kinds: Sequence[str],
    ) -> None:
        self._recorder: Recorder | None = recorder
        self.instance = instance
        self._program = program
        self._compilation, self._kinds = compilation, argument_kinds
        self._name: str | None = None
        self._calls = threading.local()
        self.arguments = self._program.arguments
        self.use_textures = getattr(self._program, "use_textures", None)
        lock = self._program.lock
        self.lock = new_lock() if lock is None else lock

    @property
    def program(self) -> Watched:
        """The program that the launcher submits to."""
        return self

    def wrapped(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """Return a launcher that stores the arguments of the current call."""

        def recorded(*args: Any) -> Any:
            self._calls.args = args
            try:
                return launch(*args)
            finally:
                self._calls.args = None

        return recorded

    def call(self) -> _Call | None:
        """Return the current call in this thread."""
        args = getattr(self._calls, "args", None)
        if args is None:
            return None
        instance = self.instance
        return _Call(instance.session, None, self._compilation, self._kinds, args, instance.module)

    def name(self, recorder: Recorder) -> str:
        """Return the name of the kernel in the recording."""
        if self._name is None:
            self._name = recorder.kernel_id(self.instance, self.instance.module)
        return self._name

    def instantiate(self) -> Any:
        """Return a new instance of the program, which is not observed."""
        return self._program.instantiate()

    def submit(self, counts: Sequence[int], stream: int | None = None) -> None:
        """Launch, and record the launch."""
        given = (counts,) if stream is None else (counts, stream)
        run: Callable[..., None] = self._program.submit
        if _RECORDER is not self._recorder or self._recorder is None:
            self._recorder = None
            run(*given)
        else:
            self._recorder.launch(self, counts, lambda: run(*given))


_RECORDER: Recorder | None = None
"""The running recording."""


def digest_of(contents: Array) -> str:
    """Return the digest of an array's contents."""
    return sha256(contents.data).hexdigest()[:32] if contents.any() else ZEROS


def _described(instance: Instance, module: BackendModule) -> dict[str, Any]:
    source = instance.definition.source
    tasks = [{"name": task.name, "kind": task.kind, "block_dim": task.block_dim} for task in module.tasks]
    location = {"file": source.file, "line": source.first_line}
    return {
        "name": module.kernel,
        **location,
        "target": module.target,
        "signature": _signature(instance),
        "tasks": tasks,
    }


def _signature(instance: Instance) -> str:
    return f"({', '.join(map(str, instance.arguments))})"


def _shown_arguments(instance: Instance, args: Sequence[Any]) -> dict[str, Any]:
    """Return the arguments for the reader: the values of numbers, the types of others."""
    shown = {}
    for parameter, argument, value in zip(instance.definition.flat_parameters, instance.arguments, args, strict=True):
        is_number = type(value) in (int, float, bool) and value == value and abs(value) < 1e300
        shown[parameter.name.replace(".", "_")] = value if is_number else str(argument)
    return shown


def _not_replayable(call: _Call) -> str:
    """Return why a launch cannot be replayed, or an empty string."""
    if call.generated.program is not None:
        return "the interpreter runs no source"
    if any(isinstance(field, AuxiliaryArray) for field in call.compilation.fields):
        return "it uses a sparse tree, whose pools are too large for files"
    if call.generated.interface.textures:
        return "it uses textures"
    unknown = {str(member.source[0]) for member in call.generated.interface.members} - KNOWN_SOURCES
    return f"it takes {', '.join(sorted(unknown))}, which recordings lack" if unknown else ""


def _element_of(module: BackendModule, region: Region) -> str:
    """Return the number type of a region that is one array of scalars or tensors, else an empty string."""
    found = {array.element for array in module.interface.arrays if array.name == region.name}
    return found.pop() if len(found) == 1 and all("{" not in element for element in found) else ""


def _remove_recording(path: Path) -> None:
    """Remove an older recording: only what its file lists."""
    try:
        data = load_yaml(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return
    except ValueError:
        data = {}
    if data.get("format") != FORMAT:
        raise TaichiRuntimeError(f"{path} exists and is not a recording", "name another file, or remove it")
    folder = path.with_suffix("")
    names = [str(kernel.get("id")) for kernel in data.get("kernels") or () if isinstance(kernel, dict)]
    kernels = [folder / name for name in names if re.fullmatch(r"\w+-\w+", name)]
    for inner in [*kernels, folder / "memory"]:
        for file in inner.glob("*") if inner.is_dir() else ():
            if file.name == "module.json" or file.suffix in (".bin", ".c", ".cu", ".comp"):
                file.unlink()
        with suppress(OSError):
            inner.rmdir()
    path.unlink()
