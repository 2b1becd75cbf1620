"""Where the sources of a call run: on copies in this process, or on copies in a child process.

In: a `Recording` and modules. Out: `Outcome`s and times. `Runner` is in this process: what an edit breaks is broken for
the program, and a GPU on which it does not end is given up. `IsolatedRunner` starts a process at its first use, and
another one where a source has ended it; a source that crashes, hangs or loses the device there ends in an error that
names it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from .....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....arrays.memory import Array
from ....launch.watchdog import NO_STOP, described, give_up, may_wait_for_ever, naming
from ...edits.variants import GENERATED
from ..harness import ReplicaSet
from ..replicas import Outcome, Recording, Region, Replicas, Trespass
from ..timing import measure
from ..values import Values
from .child_process import ChildProcess, ProcessEnded, can_isolate

if TYPE_CHECKING:
    from .....transpiler.backend.module.interface import BackendModule
    from ....session.session import Session

Prepare = Callable[[Region, Array], Array]

ALWAYS_IN_PROCESS = False
"""Set by tests that are about other things: a process takes longer to start than they take."""
GENERATED_SECONDS = 120.0
"""Time limit of the generated source, whose duration nobody knows before."""
LEAST_SECONDS = 10.0
"""Time limit of an edit if the generated source is fast."""
SLOWER = 30.0
"""An edit may take so many times as long as the generated source."""
PATIENT_SECONDS, PATIENT_SLOWER, PATIENT_GENERATED_SECONDS = 30.0, 100.0, 600.0
"""The same three in this process, which cannot use its GPU any more after the limit."""
TIMING_SECONDS = 60.0
"""Time limit of a measurement, in addition to several times the seconds that it is given."""


@dataclass(frozen=True, slots=True)
class Times:
    """columns: the times of a launch by module [s]. repeats: launches in a sample. clock: what measured."""

    columns: list[list[float]]
    repeats: int
    clock: str


@dataclass(frozen=True, slots=True)
class Limits:
    """Time limits [s] of a run. given: by the user, for edits. slower: how many times as long an edit may take."""

    given: float | None = None
    least: float = LEAST_SECONDS
    slower: float = SLOWER
    generated: float = GENERATED_SECONDS

    def of_edit(self, generated: float) -> float:
        """Return the limit of an edit. generated: how long the generated source takes."""
        return max(self.least, self.slower * generated) if self.given is None else self.given

    def of_generated(self) -> float:
        """Return the limit of the generated source."""
        return max(self.given or 0.0, self.generated)


class Runner:
    """Runs the sources of a call in this process.

    limit: of an edit's run on a GPU [s]; None: that of the session's watchdog; without one 30, or 100 times what the
    generated source takes.
    """

    is_isolated = False

    def __init__(self, session: Session, limit: float | None = None) -> None:
        self.session = session
        self._recording: Any = None
        self._replicas: Any = None
        self._timed: Any = None
        self._paths: dict[str, Sequence[Path]] = {}
        self._durations: dict[int, tuple[Recording, float]] = {}
        watchdog = session.config.watchdog
        generated = watchdog or PATIENT_GENERATED_SECONDS
        self._limits = Limits(limit or watchdog or None, PATIENT_SECONDS, PATIENT_SLOWER, generated)

    def take(self, recording: Recording) -> None:
        """Run what follows on copies of this call's memory."""
        if self._recording is not recording or self._replicas is None:
            self._recording, self._timed = recording, None
            self._replicas = Replicas(recording)

    def load(self, name: str, module: BackendModule, paths: Sequence[Path] = ()) -> None:
        """Compile a module. Raises: TaichiCompilationError if the driver's compiler refuses it."""
        if paths:
            self._paths[name] = paths
        self.session.programs.find(module)

    def run(
        self, name: str, module: BackendModule, counts: Sequence[int], pattern: int, prepare: Prepare | None = None,
        is_edit: bool = True,
    ) -> Outcome:  # fmt: skip
        """Run a module once; see `Replicas.run`. Raises: TaichiRuntimeError that names the module."""
        wait = self._wait_for(name, module, is_edit)
        try:
            outcome: Outcome = self._replicas.run(module, counts, pattern, prepare, wait)
        except TaichiRuntimeError as error:
            if self.session.stuck:
                raise
            raise _named(name, error) from error
        return outcome

    def time(
        self, modules: dict[str, BackendModule], counts: Sequence[Sequence[int]], seconds: float, confidence: float,
        precision: float,
    ) -> Times:  # fmt: skip
        """Time modules alternately; see `timing.measure`."""
        if self._timed is None:
            self._timed = ReplicaSet(self._recording)
        self._run_once(modules, counts)
        timer = self.session.device.timer()
        try:
            harness = self._timed.harness(list(modules.values()), timer, counts)
            columns = measure(harness.sample, len(modules), seconds, confidence, precision)
        finally:
            timer.close()
        return Times(columns, harness.repeats, timer.clock)

    def close(self) -> None:
        """Free the copies."""
        self._replicas = self._timed = None
        self._durations.clear()

    # --- how long runs may take

    @property
    def _longest(self) -> float:
        """How long the generated source takes in the call at most, 0 if it has not run [s]."""
        return self._durations.get(id(self._recording), (None, 0.0))[1]

    def _note_duration(self, seconds: float) -> None:
        """Record how long the generated source took. The recording is referred to, so that no other gets its id."""
        self._durations[id(self._recording)] = self._recording, max(self._longest, seconds)

    def _wait_for(self, name: str, module: BackendModule, is_edit: bool) -> Callable[[], None]:
        """Return what waits for a launch, and gives up a GPU that does not end it."""

        def wait() -> None:
            device: Any = self.session.device
            begin = perf_counter()
            if may_wait_for_ever(device):
                limit = self._limits.of_edit(self._longest) if is_edit else self._limits.of_generated()
                if not device.finish_within(limit):
                    self._give_up(name, module, limit, is_edit)
            device.synchronize()
            if not is_edit:
                self._note_duration(perf_counter() - begin)

        return naming(wait, module, self._paths.get(name, ()))

    def _give_up(self, name: str, module: BackendModule, limit: float, is_edit: bool) -> None:
        generated = f"; the generated source takes {self._longest:.3g} s" if is_edit and self._longest else ""
        reason = (
            f"{_shown(name)} of {described(module)} has run for more than {limit:g} s on {self.session.device.title}"
            f"{generated}. It loops without end, or it accesses memory that does not exist, which drivers of GPUs do "
            f"not always report. {NO_STOP}"
        )
        hint = "`time_limit=`, or `--time-limit`, allows more. Start the program again"
        if can_isolate():
            hint += "; without `in_process=True`, or `--in-process`, edits run in a process that can be stopped"
        give_up(self.session, reason, hint)

    def _run_once(self, modules: dict[str, BackendModule], counts: Sequence[Sequence[int]]) -> None:
        """Run modules once where waits have to be limited, so that one that does not end is named."""
        if not may_wait_for_ever(self.session.device):
            return
        generated = self._recording.launchable.generated
        if not self._longest:
            self._timed.run_once(generated, self._recording.counts, self._wait_for(GENERATED, generated, False))
        for (name, module), each in zip(modules.items(), counts, strict=True):
            self._timed.run_once(module, each, self._wait_for(name, module, module is not generated))


class IsolatedRunner(Runner):
    """Runs the sources of a call in a child process. limit: of an edit's run [s]; None: see `Limits`."""

    is_isolated = True

    def __init__(self, session: Session, limit: float | None = None, sanitize: bool = False) -> None:
        super().__init__(session)
        self._limits, self._sanitize = Limits(limit), sanitize
        self._kernel = ""
        self._process: ChildProcess | None = ChildProcess(session, sanitize)
        self._known: set[str] = set()
        self._has_call = False

    def take(self, recording: Recording) -> None:
        """Run what follows on copies of this call's memory."""
        if self._recording is not recording:
            self._recording, self._has_call = recording, False

    def load(self, name: str, module: BackendModule, paths: Sequence[Path] = ()) -> None:
        """Compile a module in the process."""
        if paths:
            self._paths[name] = paths
        self._key(name, module)

    def run(
        self, name: str, module: BackendModule, counts: Sequence[int], pattern: int, prepare: Prepare | None = None,
        is_edit: bool = True,
    ) -> Outcome:  # fmt: skip
        """Run a module once; see `Replicas.run`. Raises: TaichiRuntimeError that names the module."""
        key = self._key(name, module)
        process = self._with_call(module)
        regions = self._recording.regions
        given = {region: region.contents for region in regions}
        prepared: list[int] = []
        for number, region in enumerate(regions if prepare is not None else ()):
            if prepare is not None and region.role == "data":
                given[region] = prepare(region, region.contents)
                if given[region] is not region.contents:
                    prepared.append(number)
        request = {"do": "run", "key": key, "counts": list(counts), "pattern": pattern, "prepared": prepared}
        arrays = [(given[regions[number]], regions[number].is_lazy) for number in prepared]
        limit = self._limits.of_edit(self._longest) if is_edit else self._limits.of_generated()
        reply, found = self._request(name, process, request, arrays, limit)
        if not is_edit:
            self._note_duration(float(reply["seconds"]))
        return self._outcome(reply, found, given)

    def time(
        self, modules: dict[str, BackendModule], counts: Sequence[Sequence[int]], seconds: float, confidence: float,
        precision: float,
    ) -> Times:  # fmt: skip
        """Time modules alternately; see `timing.measure`. Each has run once before, so that one that hangs is named."""
        keys = [self._key(name, module) for name, module in modules.items()]
        process = self._with_call(next(iter(modules.values())))
        options = {"seconds": seconds, "confidence": confidence, "precision": precision}
        request = {"do": "time", "keys": keys, "counts": [list(each) for each in counts], **options}
        limit = TIMING_SECONDS + 4 * seconds + 40 * len(modules) * self._limits.of_edit(self._longest)
        reply, _ = self._request(" or ".join(f"`{name}`" for name in modules), process, request, (), limit)
        return Times(reply["columns"], int(reply["repeats"]), str(reply["clock"]))

    def close(self) -> None:
        """End the process."""
        super().close()
        if self._process is not None:
            self._process.close()
            self._process = None

    # --- messages

    def _alive(self) -> ChildProcess:
        """Return a running process; what an earlier one knew is forgotten."""
        if self._process is None or not self._process.is_alive:
            self._process = ChildProcess(self.session, self._sanitize)
            self._known.clear()
            self._has_call = False
        return self._process

    def _key(self, name: str, module: BackendModule) -> str:
        """Return the key of a module that the process has compiled."""
        self._kernel = module.kernel
        data = module.to_json()
        key = sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()
        process = self._alive()
        if key not in self._known:
            self._request(name, process, {"do": "module", "key": key, "module": data}, (), None)
            self._known.add(key)
        return key

    def _with_call(self, module: BackendModule) -> ChildProcess:
        """Return the process, which has the memory of the call."""
        process = self._alive()
        if self._has_call:
            return process
        recording: Recording = self._recording
        key = self._key("generated", recording.launchable.generated)
        textures, contents = _textures(recording)
        message = {
            "do": "call",
            "generated": key,
            "packed": recording.packed.hex(),
            "regions": [
                {"name": r.name, "begin": r.begin, "size_bytes": r.size_bytes, "role": r.role, "is_lazy": r.is_lazy}
                for r in recording.regions
            ],
            "pointers": [
                [p.offset_bytes, p.address, recording.regions.index(p.region), p.slot] for p in recording.pointers
            ],
            "textures": textures,
        }
        arrays = [(region.contents, region.is_lazy) for region in recording.regions]
        self._request("generated", process, message, [*arrays, *((array, False) for array in contents)], None)
        self._has_call = True
        return process

    def _request(
        self, name: str, process: ChildProcess, message: dict[str, Any], arrays: Sequence[tuple[Array, bool]],
        limit: float | None,
    ) -> tuple[dict[str, Any], list[Array]]:  # fmt: skip
        try:
            return process.request(message, arrays, limit) if limit is not None else process.request(message, arrays)
        except ProcessEnded as error:
            raise self._ended(name, error, limit) from None
        except TaichiCompilationError as error:
            self._known.discard(message.get("key", ""))
            raise error from None
        except TaichiRuntimeError as error:
            raise _named(name, error, self._paths.get(name, ())) from error

    def _ended(self, name: str, error: ProcessEnded, limit: float | None) -> ProcessEnded:
        """Return the error that names the source."""
        subject = f"{_first_line(self._paths.get(name, ()))}{_shown(name)} of kernel `{self._kernel}`"
        hint = "`sanitize=True`, or `--sanitize` on the command line, finds the line of a wrong access on ti.cpu"
        text = error.message
        if "was stopped" in text:
            text = f"{text}; the generated source takes {self._longest:.3g} s"
            hint = "look for a loop that does not end; `time_limit=`, or `--time-limit`, allows more"
        elif "status" in text:
            hint = "a kernel must not call `exit`"
        return ProcessEnded(f"{subject} {text}", hint if not self._sanitize or "stopped" in text else None)

    def _outcome(self, reply: dict[str, Any], arrays: list[Array], given: dict[Region, Array]) -> Outcome:
        regions = self._recording.regions
        contents = dict(given)
        for number, array in zip(reply["changed"], arrays):
            contents[regions[number]] = array
        trespasses = tuple(
            Trespass(regions[k], bool(is_after), int(offset), int(count))
            for k, is_after, offset, count in reply["trespasses"]
        )
        textures = []
        for seen, (dtype, shape), array in zip(
            self._recording.textures, reply["texels"], arrays[len(reply["changed"]) :], strict=True
        ):
            texels = array.view(np.dtype(dtype)).reshape(shape)
            kind = seen.texture.spec.format.channel.name
            textures.append(Values(seen.slot.name, texels, seen.texture.shape, is_written=seen.slot.written, type=kind))
        return Outcome(contents, trespasses, tuple(textures))


def _textures(recording: Recording) -> tuple[list[dict[str, Any]], list[Array]]:
    """Return the textures of a call as data, and the texels of each once."""
    numbers: dict[int, int] = {}
    contents: list[Array] = []
    entries = []
    for seen in recording.textures:
        if id(seen.texture) not in numbers:
            numbers[id(seen.texture)] = len(contents)
            contents.append(np.ascontiguousarray(seen.contents).view(np.uint8).reshape(-1))
        spec = seen.texture.spec
        texture = {"format": spec.format.name, "shape": spec.shape, "filter": spec.filter, "modes": spec.address_modes}
        entries.append({"number": numbers[id(seen.texture)], "slot": asdict(seen.slot), **texture})
    return entries, contents


def _named(name: str, error: TaichiRuntimeError, paths: Sequence[Path] = ()) -> TaichiRuntimeError:
    """Return an error of the device that names the module. paths: of its files."""
    text = f"{_first_line(paths)}{_shown(name)} failed on copies of the arguments: {error.message}"
    return TaichiRuntimeError(text, error.hint)


def _shown(name: str) -> str:
    return name if name.startswith("`") else f"`{name}`"


def _first_line(paths: Sequence[Path]) -> str:
    return f"{paths[0]}:1: " if paths else ""


def runner_for(
    session: Session, in_process: bool = False, limit: float | None = None, sanitize: bool = False
) -> Runner:
    """Return what runs edited sources: a child process, unless the caller or the system does without."""
    if in_process or ALWAYS_IN_PROCESS or not can_isolate():
        return Runner(session, limit)
    return IsolatedRunner(session, limit, sanitize)
