"""Replays a recording of `recording.py` without the program, and compares the results.

In: `record.yml` and its folder. Out: a `Replayed` for each session. Every launch gets copies of its memory with the
recorded contents. Results are compared bit by bit after each launch and, if these differ, number by number at the end,
since parallel sums of floating-point numbers may differ between runs.

The sources are those in the folder: a changed source is replayed as changed.
"""

from __future__ import annotations

import json
import re
import struct
import time
from contextlib import nullcontext
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...transpiler.backend.module.read_module import read_module
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import NUMPY
from ..arrays.memory import Array
from ..devices.target_tools import source_tools
from ..launch.printing import Reports
from ..session.allocation_handle import AllocationHandle
from ..workbench.measure.differences import RELATIVE, SHARE
from .recording import FORMAT, VERSION, ZEROS, digest_of
from .yaml_subset import load_yaml

if TYPE_CHECKING:
    from ...transpiler.backend.module.interface import BackendModule
    from ..session.session import Session

NAME = re.compile(r"\w+-[0-9a-f]{8}")
DIGEST = re.compile(r"[0-9a-f]{32}")
FILE = re.compile(r"\w[\w.-]*")


@dataclass(frozen=True, slots=True)
class Verdict:
    """The final contents of one array. verdict: "equal", "within rounding" or "DIFFERS". largest: difference."""

    name: str
    element: str
    verdict: str
    largest: float = 0.0
    count: int = 0


@dataclass(slots=True)
class Replayed:
    """A replayed session.

    launches: how many. seconds: their time without compilation. first_different: number and kernel of the first launch
    whose results differ from the recorded bits, None if none did. skipped: launches that were not recorded.
    """

    arch: str
    device: str
    launches: int = 0
    seconds: float = 0.0
    first_different: tuple[int, str] | None = None
    skipped: list[str] = field(default_factory=list)
    memory: list[Verdict] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether all results are as recorded, except for rounding."""
        return not self.skipped and all(verdict.verdict != "DIFFERS" for verdict in self.memory)


def arch_of(recorded: str) -> str | None:
    """Return the architecture to replay launches of a recorded target on; None if none can run them."""
    return next((tools.arch for tools in source_tools() if tools.name == recorded), None)


class RecordingFile:
    """A recording on disk. Raises: TaichiRuntimeError naming the fault; OSError."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.folder = path.with_suffix("")
        try:
            self.data = load_yaml(path.read_text(encoding="utf-8"))
        except (ValueError, UnicodeDecodeError) as error:
            raise self.invalid(str(error)) from None
        if self.data.get("format") != FORMAT:
            raise self.invalid(f"expected `format: {FORMAT}`")
        if self.data.get("version") != VERSION:
            raise self.invalid(f"version {self.data.get('version')!r} is not {VERSION}, which this shadesmith reads")
        self._modules: dict[str, BackendModule] = {}

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The recorded sessions, one per `ti.init`."""
        found = self.data.get("sessions")
        if type(found) is not list or not all(type(session) is dict for session in found):
            raise self.invalid("it has no sessions")
        return found

    def invalid(self, reason: str) -> TaichiRuntimeError:
        """Return the error for an invalid recording."""
        return TaichiRuntimeError(f"{self.path} is no recording that can be replayed: {reason}", "record it again")

    def module(self, name: str) -> BackendModule:
        """Return a compiled kernel with the current sources in the folder."""
        if name not in self._modules:
            if not NAME.fullmatch(name):
                raise self.invalid(f"`{name}` is not a kernel")
            try:
                data = json.loads((self.folder / name / "module.json").read_text(encoding="utf-8"))
                for file in data["files"]:
                    if not FILE.fullmatch(file["name"]):
                        raise ValueError(f"`{file['name']}` is not a file name")
                    file["text"] = (self.folder / name / file["name"]).read_text(encoding="utf-8")
                self._modules[name] = read_module(data)
            except (ValueError, KeyError, TypeError) as error:
                raise self.invalid(f"kernel {name}: {error}") from None
        return self._modules[name]

    def contents(self, digest: str, size_bytes: int) -> Array:
        """Return the contents of an array. Raises: TaichiRuntimeError if the file was changed."""
        if digest == ZEROS:
            return np.zeros(size_bytes, np.uint8)
        if not DIGEST.fullmatch(digest):
            raise self.invalid(f"`{digest}` is not a digest")
        data = (self.folder / "memory" / f"{digest}.bin").read_bytes()
        if len(data) != size_bytes or sha256(data).hexdigest()[:32] != digest:
            raise self.invalid(f"memory/{digest}.bin was changed")
        return np.frombuffer(data, np.uint8)


class Replay:
    """Runs the launches of one recorded session in a session of this process."""

    def __init__(self, file: RecordingFile, recorded: dict[str, Any], session: Session) -> None:
        self._file, self._recorded, self._session = file, recorded, session
        self._handles: dict[int, AllocationHandle] = {}
        self._digests: dict[int, str] = {}
        self.result = Replayed(recorded["arch"], session.device.title)

    def run(self) -> Replayed:
        """Launch everything in order and compare. Raises: as launches do, for checks that fail in a kernel too."""
        try:
            for number, launch in enumerate(self._recorded["launches"], 1):
                if "left_out" in launch:
                    self.result.skipped.append(f"launch {number} (`{launch['kernel']}`): {launch['left_out']}")
                else:
                    self._launch(number, launch)
            self.result.memory = self._compared()
        except (KeyError, IndexError, TypeError, ValueError, struct.error) as error:
            raise self._file.invalid(f"{type(error).__name__}: {error}") from error
        return self.result

    def _launch(self, number: int, launch: dict[str, Any]) -> None:
        module = self._file.module(launch["kernel"])
        interface, device = module.interface, self._session.device
        if module.target != self._recorded["arch"]:
            raise self._file.invalid(f"kernel {launch['kernel']} is for {module.target}")
        if len(launch["turns"]) != len(module.tasks):
            raise self._file.invalid(f"launch {number} has {len(launch['turns'])} iteration counts")
        for memory, digest in launch["before"]:
            contents = self._file.contents(digest, self._entry(memory)["size_bytes"])
            self._digests[memory] = digest
            if contents.size:
                device.write(self._handle(memory).allocation, np.ascontiguousarray(contents).data)
        packed = bytearray.fromhex(launch["packed"])
        if len(packed) != interface.args_size_bytes:
            raise self._file.invalid(f"launch {number} packs {len(packed)} bytes, not {interface.args_size_bytes}")
        program: Any = self._session.programs.find(module).program.instantiate()
        reports = None
        if any(member.source == ("report",) for member in interface.members):
            reports = Reports(self._session, module, program.arguments)
        for offset, memory, begin in launch["pointers"]:
            is_report = self._entry(memory)["role"] == "report"
            address = reports.address if is_report and reports else self._handle(memory).allocation.address
            struct.pack_into("<Q", packed, offset, address + begin)
        struct.pack_into(f"{len(packed)}s", program.arguments, 0, bytes(packed))
        device.synchronize()
        start = time.perf_counter()
        with program.lock or nullcontext():
            program.submit(tuple(launch["turns"]))
        device.synchronize()
        self.result.seconds += time.perf_counter() - start
        self.result.launches += 1
        if reports is not None:
            reports.show()
        self._check(number, launch)

    def _check(self, number: int, launch: dict[str, Any]) -> None:
        """Compare the bits of the memory that the launch may have changed with the recorded contents after it."""
        self._digests.update((memory, digest) for memory, digest in launch["after"])
        for memory in dict.fromkeys(memory for _, memory, _ in launch["pointers"]):
            is_data = self._entry(memory)["role"] == "data"
            if is_data and self.result.first_different is None:
                if digest_of(self._read(memory)) != self._digests.get(memory, ZEROS):
                    self.result.first_different = number, launch["kernel"]

    def _entry(self, memory: int) -> dict[str, Any]:
        entries = self._recorded["memory"]
        if type(memory) is not int or not 0 <= memory < len(entries):
            raise self._file.invalid(f"there is no memory {memory}")
        entry: dict[str, Any] = entries[memory]
        if type(entry["size_bytes"]) is not int or not 0 <= entry["size_bytes"] < 1 << 40:
            raise self._file.invalid(f"memory {memory} has {entry['size_bytes']} bytes")
        return entry

    def _handle(self, memory: int) -> AllocationHandle:
        handle = self._handles.get(memory)
        if handle is None:
            entry = self._entry(memory)
            owner = f"copy of `{entry['name']}`"
            handle = self._handles[memory] = AllocationHandle(self._session, max(16, entry["size_bytes"]), owner)
        return handle

    def _read(self, memory: int) -> Array:
        contents = np.empty(self._entry(memory)["size_bytes"], np.uint8)
        if contents.size:
            self._session.device.read(self._handle(memory).allocation, contents.data)
        return contents

    def _compared(self) -> list[Verdict]:
        verdicts = []
        for memory, entry in enumerate(self._recorded["memory"]):
            if "last" in entry:
                expected = self._file.contents(entry["last"], entry["size_bytes"])
                verdicts.append(compared(entry["name"], entry.get("element", ""), expected, self._read(memory)))
        return verdicts


def compared(name: str, element: str, expected: Array, contents: Array) -> Verdict:
    """Compare the bytes of an array, as numbers if their type is known; floating-point ones up to rounding."""
    if np.array_equal(expected, contents):
        return Verdict(name, element, "equal")
    dtype = NUMPY.get(element.partition("[")[0], np.dtype(np.uint8))
    replayed, recorded = contents.view(dtype), expected.view(dtype)
    if dtype.kind != "f":
        different = int(np.count_nonzero(replayed != recorded))
        return Verdict(name, element, "DIFFERS", float(different), different)
    wide = recorded.astype(np.float64)
    usual = float(np.median(np.abs(wide[wide != 0]))) if np.any(wide != 0) else 0.0
    relative = RELATIVE[dtype.itemsize]
    with np.errstate(invalid="ignore"):
        distance = np.abs(replayed.astype(np.float64) - wide)
        allowed = relative * np.maximum(np.abs(wide), SHARE * usual)
        wrong = ~((distance <= allowed) | (replayed == recorded) | (np.isnan(replayed) & np.isnan(recorded)))
    largest = float(np.max(distance[np.isfinite(distance)], initial=0.0))
    count = int(np.count_nonzero(wrong))
    return Verdict(name, element, "DIFFERS" if count else "within rounding", largest, count)
