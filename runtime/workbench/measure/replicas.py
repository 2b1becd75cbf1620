"""Copies of all memory that a launch accesses, with guard zones around each, on which any source of the kernel can run.

In: a compiled kernel and the arguments of one call. Out: `Recording`, what the call would have launched and the memory
that it reaches as it is now; `Replicas`, where a module runs on copies of that. What the user owns is read once, and
never written: the launcher runs up to the point where it would submit, so that every kind of argument gets its address
in the way it does in any launch.

Guard zones have a pattern. A write there is outside of an array, and results that change with the pattern come
from reading there.
"""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from ....transpiler.backend.module.interface import PACK_CODES
from ....transpiler.frontend.source.specialization import Specialization
from ...arrays.foreign import GpuArray, find_memory
from ...arrays.interop import gradient_of
from ...arrays.memory import Array
from ...arrays.staging import address_range, host_range
from ...devices.host_arrays import view_address
from ...devices.host_memory import touched_parts
from ...launch.instance import Instance
from ...session.allocation_handle import AllocationHandle
from ...session.session import Session
from .texture_copies import Seen, TextureCopies, textures_of
from .values import Values

if TYPE_CHECKING:
    from ....transpiler.backend.module.compilation import Compilation
    from ....transpiler.backend.module.interface import BackendModule, Member

MIN_GUARD_BYTES = 1 << 16
MAX_GUARD_BYTES = 1 << 22
"""A guard zone is as long as the region, within these bounds: a loop with one row too many ends in it."""
ALIGNMENT = 64
"""[bytes] A copy has the same address as its original modulo this, so that wide loads work or fail alike."""
PATTERNS = (0xFF, 0x7F)
"""Bytes in guard zones and memory without contents, alternately: NaN and -1; 3.4e38 and 2,139,062,143."""
GUARD_BYTES = 16
"""How many bytes below a pattern those in the guard zones of other regions are."""
POINTERS = ("pointer", "gradient", "temporaries", "result", "report")
"""Members of `Args` that are addresses."""


class Launchable(Protocol):
    """A call of a kernel: what `Variants` knows. generated: the module as emitted; kinds: one word an argument."""

    @property
    def session(self) -> Session:
        """The session in which it would run."""

    @property
    def specialization(self) -> Specialization:
        """What was compiled."""

    @property
    def compilation(self) -> Compilation:
        """What that gave."""

    @property
    def argument_kinds(self) -> Sequence[str]:
        """How a launcher takes each argument."""

    @property
    def args(self) -> Sequence[Any]:
        """The arguments, bound and unpacked."""

    @property
    def generated(self) -> BackendModule:
        """The module that was emitted."""


@dataclass(eq=False, slots=True)
class Region:
    """A contiguous piece of memory that a launch accesses.

    begin: its address. role: "data", "temporaries", "result" or "report". hold: who owns it, None for memory of other
    libraries. contents: its bytes before the launch. is_lazy: parts that nobody touched take no memory.
    """

    name: str
    begin: int
    size_bytes: int
    role: str
    handle: AllocationHandle | None
    contents: Array
    is_lazy: bool = False

    @property
    def end(self) -> int:
        """The address after it."""
        return self.begin + self.size_bytes

    @property
    def guard_bytes(self) -> int:
        """Length of the guard zones before and after its copy."""
        return min(MAX_GUARD_BYTES, max(MIN_GUARD_BYTES, -(-self.size_bytes // ALIGNMENT) * ALIGNMENT))

    def new_contents(self, pattern: int) -> Array:
        """Return the contents of a copy at the start of a run: memory that no launch may rely on has the pattern.

        Temporaries start as zeros, as in the first launch: a reduction counts its finished blocks there.
        """
        if self.role in ("temporaries", "result"):
            return np.full(self.size_bytes, pattern if self.role == "result" else 0, np.uint8)
        return self.contents


@dataclass(frozen=True, slots=True)
class Pointer:
    """A member of `Args` that points into a region. slot: of the array, -1 for anything else."""

    offset_bytes: int
    address: int
    region: Region
    slot: int


@dataclass(frozen=True, slots=True)
class Recording:
    """One call as it would be launched. values: what is packed, by source (`interface.Member`). owners, textures: by
    slot."""

    launchable: Launchable
    packed: bytes
    counts: tuple[int, ...]
    values: dict[tuple[Any, ...], Any]
    regions: tuple[Region, ...]
    pointers: tuple[Pointer, ...]
    owners: tuple[Any, ...]
    textures: tuple[Seen, ...] = ()


@dataclass(frozen=True, slots=True)
class Trespass:
    """Bytes of a guard zone that a run changed. offset_bytes: of the first, from the start or end of the region.

    is_after: they are after the region, at `offset_bytes` from its end; else before, at a negative offset from its
    begin.
    """

    region: Region
    is_after: bool
    offset_bytes: int
    count_bytes: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The memory after a run. contents: bytes by region. textures: texels."""

    contents: dict[Region, Array]
    trespasses: tuple[Trespass, ...]
    textures: tuple[Values, ...] = ()


# --- recording of a call


class _Recorded(Exception):  # noqa: N818 - no error: it ends a launch before its start
    """Leaves the launcher at the point where it would submit."""


class StandIn:
    """Replaces a program: takes the packed arguments and starts nothing."""

    def __init__(self, size_bytes: int, take: Callable[[bytes], None] | None) -> None:
        self._size_bytes = size_bytes
        self.arguments = bytearray(max(1, size_bytes))
        self.lock = threading.RLock()
        self.counts: tuple[int, ...] = ()
        self._take = take

    def submit(self, counts: Sequence[int], stream: int | None = None) -> None:
        """Record the arguments, while all of them are alive."""
        self.counts = tuple(counts)
        if self._take is not None:
            self._take(bytes(self.arguments[: self._size_bytes]))
        raise _Recorded

    def use_textures(self, textures: Sequence[Any]) -> None:
        """Do nothing: the arguments have their textures."""

    def instantiate(self) -> StandIn:
        """Return itself: it has no code."""
        return self


def record(launchable: Launchable) -> Recording:
    """Return what the call would launch, with a copy of all memory it accesses.

    Raises: as the launch itself, for arguments that it cannot take.
    """
    found: list[Recording] = []
    module = launchable.generated
    recorder = StandIn(module.interface.args_size_bytes, lambda packed: found.append(taken(launchable, packed)))
    _launch_into(launchable, module, recorder)
    return replace(found[0], counts=recorder.counts)


def counts_of(launchable: Launchable, module: BackendModule) -> tuple[int, ...]:
    """Return the trip count of each task of a module in the call."""
    recorder = StandIn(module.interface.args_size_bytes, None)
    _launch_into(launchable, module, recorder)
    return recorder.counts


def packed_call(launchable: Launchable, module: BackendModule) -> tuple[bytes, tuple[int, ...]]:
    """Return the packed arguments of the call for a module, and the trip count of each task; no memory is read."""
    found: list[bytes] = []
    recorder = StandIn(module.interface.args_size_bytes, found.append)
    _launch_into(launchable, module, recorder)
    return found[0], recorder.counts


def _launch_into(launchable: Launchable, module: BackendModule, recorder: StandIn) -> None:
    compilation = replace(launchable.compilation, module=module)
    instance = Instance(launchable.session, launchable.specialization, compilation)
    instance.program = recorder
    launch = instance.make_launch(compilation, launchable.argument_kinds, keeps=True).launch
    launches = launchable.session.launches
    try:
        launch(*launchable.args)
    except _Recorded:
        launchable.session.launches = launches  # so that the program continues with the same random numbers
        return
    raise AssertionError("a launcher returned without submitting")


def taken(launchable: Launchable, packed: bytes) -> Recording:
    """Copy the memory that packed arguments point to."""
    session, interface = launchable.session, launchable.generated.interface
    session.device.synchronize()
    owners = tuple(_owner(launchable, slot) for slot in range(len(interface.arrays)))
    values = {member.source: _unpacked(member, packed) for member in interface.members}
    pieces = [
        _piece(session, member, values[member.source], interface, owners)
        for member in interface.members
        if member.source[0] in POINTERS
    ]
    regions = _merged([piece for _, piece in pieces])
    for region in regions:
        region.contents = read_region(session, region)
    pointers = []
    for member, piece in pieces:
        address = values[member.source]
        region = next(r for r in regions if r.begin <= piece.begin and piece.end <= r.end)
        slot = member.source[1] if member.source[0] in ("pointer", "gradient") else -1
        pointers.append(Pointer(member.offset_bytes, address, region, slot))
    textures = textures_of(launchable.generated, launchable.args)
    return Recording(launchable, packed, (), values, tuple(regions), tuple(pointers), owners, textures)


def _unpacked(member: Member, packed: bytes) -> Any:
    from_bytes = struct.unpack_from(f"<{PACK_CODES[member.type]}", packed, member.offset_bytes)
    return from_bytes[0]


def _owner(launchable: Launchable, slot: int) -> Any:
    """Return the field, ndarray or foreign array that an array of the kernel is."""
    array = launchable.generated.interface.arrays[slot]
    if array.parameter is None:
        return launchable.compilation.fields[slot]
    value = launchable.args[array.parameter]
    if any(member.source == ("gradient", slot) for member in launchable.generated.interface.members):
        return gradient_of(value, array.name, not launchable.generated.interface.takes_strides(slot))
    return value


def _piece(
    session: Session, member: Member, address: int, interface: Any, owners: Sequence[Any]
) -> tuple[Member, Region]:
    """Return the memory of an address: an allocation of the session or of another library."""
    kind = member.source[0]
    role = kind if kind in ("temporaries", "result", "report") else "data"
    name = interface.arrays[member.source[1]].name if role == "data" else role
    nothing = np.empty(0, np.uint8)
    if role == "report":
        allocation = session.reports.allocation
        return member, Region(name, allocation.address, allocation.size_bytes, role, None, nothing)
    for handle in list(session.handles):
        if not handle.is_released and 0 <= address - handle.allocation.address < handle.size_bytes:
            is_lazy = bool(getattr(handle.allocation, "is_lazy", False))
            return member, Region(name, handle.allocation.address, handle.size_bytes, role, handle, nothing, is_lazy)
    begin, end = _foreign_extent(owners[member.source[1]], name)
    return member, Region(name, begin, end - begin, role, None, nothing)


def _foreign_extent(owner: Any, name: str) -> tuple[int, int]:
    """Return start and end of memory of another library."""
    memory = find_memory(owner, f"argument `{name}`")
    if not isinstance(memory, GpuArray):
        return host_range(memory)
    return address_range(memory.address, memory.shape, memory.strides, memory.dtype.itemsize)


def _merged(pieces: Sequence[Region]) -> list[Region]:
    """Return disjoint regions that cover all pieces."""
    found: list[Region] = []
    for piece in sorted(pieces, key=lambda piece: (piece.begin, -piece.size_bytes)):
        last = found[-1] if found else None
        if last is None or (piece.begin >= last.end and piece.begin != last.begin):
            found.append(piece)
            continue
        last.size_bytes = max(last.end, piece.end) - last.begin
        names = last.name.split(", ")
        last.name = ", ".join([*names, *([piece.name] if piece.name not in names else [])])
    return found


def read_region(session: Session, region: Region) -> Array:
    """Return a copy of a region's bytes."""
    if session.device.host_memory:
        memory = view_address(region.begin, np.dtype(np.uint8), (region.size_bytes,))
        return _copied(memory) if region.is_lazy else memory.copy()
    contents = np.empty(region.size_bytes, np.uint8)
    if region.size_bytes:
        place: Any = _Place(region.begin, region.size_bytes) if region.handle is None else region.handle.allocation
        if region.role == "report":
            place = session.reports.allocation
        session.device.read(place, contents.data)
    return contents


@dataclass(frozen=True, slots=True)
class _Place:
    """Memory of a GPU that another library allocated, as `Device.read` takes it."""

    address: int
    size_bytes: int


def _copied(memory: Array) -> Array:
    """Return a copy that takes only as much memory as was touched; the rest is zero."""
    result = np.zeros(memory.size, np.uint8)
    for begin, end in touched_parts(memory.ctypes.data, memory.size):
        result[begin:end] = memory[begin:end]
    return result


# --- runs on copies


class Forbidding(Protocol):
    """What watches for accesses to memory (`process.sanitizers.ForbiddenMemory`)."""

    def forbid(self, address: int, size_bytes: int) -> None:
        """Forbid a part of memory until `allow_all`."""

    def allow_all(self) -> None:
        """Allow all memory again."""


class Replicas:
    """Copies of the memory of a call. Programs run on them one after the other, each time from the same contents.

    guard: gets the guard zones while a program runs.
    """

    def __init__(self, recording: Recording, guard: Forbidding | None = None) -> None:
        self.recording = recording
        self._guard = guard
        self._session = recording.launchable.session
        self._handles: dict[Region, AllocationHandle] = {}
        self.textures = TextureCopies(self._session, recording.textures)

    def run(
        self,
        module: BackendModule,
        counts: Sequence[int],
        pattern: int = PATTERNS[0],
        prepare: Callable[[Region, Array], Array] | None = None,
        wait: Callable[[], None] | None = None,
    ) -> Outcome:
        """Run a module once and wait for it. pattern: of the guards.

        prepare: changes what a copy holds before, given a region and its contents, which it must not change.
        wait: waits for the end; None: the device's `synchronize`, for however long that takes.
        Raises: TaichiRuntimeError where the device reports a fault.
        """
        packed = self.place(pattern, prepare)
        program = self.load(module, packed)
        self._forbid()
        with program.lock or nullcontext():
            program.submit(counts)
        (self._session.device.synchronize if wait is None else wait)()
        if self._guard is not None:
            self._guard.allow_all()
        return self._collect(pattern)

    def _forbid(self) -> None:
        """Forbid the guard zones."""
        for region in self.recording.regions if self._guard is not None else ():
            assert self._guard is not None
            handle, begin = self._handles[region].allocation, self.offset(region)
            end = begin + region.size_bytes
            self._guard.forbid(handle.address + begin - region.guard_bytes, region.guard_bytes)
            self._guard.forbid(handle.address + end, region.guard_bytes)

    def place(self, pattern: int = PATTERNS[0], prepare: Callable[[Region, Array], Array] | None = None) -> bytes:
        """Fill the copies, as `run` does before it runs; return the packed arguments that point to them."""
        begins: dict[Region, int] = {}
        for region in self.recording.regions:
            contents = region.new_contents(pattern)
            if prepare is not None and region.role == "data":
                contents = prepare(region, contents)
            begins[region] = self._fill(region, contents, self._guard_byte(region, pattern))
        packed = bytearray(self.recording.packed)
        for pointer in self.recording.pointers:
            moved = pointer.address - pointer.region.begin + begins[pointer.region]
            struct.pack_into("<Q", packed, pointer.offset_bytes, moved & 0xFFFF_FFFF_FFFF_FFFF)
        self.textures.fill()
        self.textures.point(packed, self.recording.launchable.generated.interface.members)
        return bytes(packed)

    def load(self, module: BackendModule, packed: bytes) -> Any:
        """Return the program of a module, with its own argument block, which has the packed arguments."""
        program: Any = self._session.programs.find(module).program.instantiate()
        size = module.interface.args_size_bytes
        struct.pack_into(f"{size}s", program.arguments, 0, packed[:size])
        self.textures.use(program)
        return program

    def memory(self, region: Region) -> AllocationHandle:
        """Return the allocation of a region's copy and guard zones, after it was filled."""
        return self._handles[region]

    def _guard_byte(self, region: Region, pattern: int) -> int:
        """Return what a guard zone is filled with: what is read in one and written in another shows."""
        return pattern - self.recording.regions.index(region) % GUARD_BYTES

    def _fill(self, region: Region, contents: Array, pattern: int) -> int:
        """Write a copy with its guard zones; return its address."""
        handle = self._handles.get(region)
        if handle is None or region.is_lazy:
            self._handles.pop(region, None)
            size_bytes = region.size_bytes + 2 * region.guard_bytes + ALIGNMENT
            handle = AllocationHandle(self._session, size_bytes, f"a copy of `{region.name}`", region.is_lazy)
            self._handles[region] = handle
        device, guard = self._session.device, region.guard_bytes
        begin = self.offset(region)
        if not region.is_lazy:
            image = np.full(handle.size_bytes, pattern, np.uint8)
            image[begin : begin + region.size_bytes] = contents
            device.write(handle.allocation, image.data)
            return handle.allocation.address + begin
        image = view_address(handle.allocation.address, np.dtype(np.uint8), (handle.size_bytes,))
        image[begin - guard : begin] = image[begin + region.size_bytes : begin + region.size_bytes + guard] = pattern
        for first, end in touched_parts(contents.ctypes.data, contents.size):
            image[begin + first : begin + end] = contents[first:end]
        return handle.allocation.address + begin

    def offset(self, region: Region) -> int:
        """Return the offset of a copy in its allocation."""
        guard = region.guard_bytes
        address = self._handles[region].allocation.address + guard
        return guard + (region.begin - address) % ALIGNMENT

    def _collect(self, pattern: int) -> Outcome:
        contents: dict[Region, Array] = {}
        trespasses: list[Trespass] = []
        for region in self.recording.regions:
            handle, begin, guard = self._handles[region], self.offset(region), region.guard_bytes
            end = begin + region.size_bytes
            if region.is_lazy:
                image = view_address(handle.allocation.address, np.dtype(np.uint8), (handle.size_bytes,))
                contents[region] = _copied(image[begin:end])
            else:
                image = np.empty(handle.size_bytes, np.uint8)
                self._session.device.read(handle.allocation, image.data)
                contents[region] = image[begin:end]
            before, behind = image[begin - guard : begin], image[end : end + guard]
            byte = self._guard_byte(region, pattern)
            trespasses += _trespasses(region, before != byte, False) + _trespasses(region, behind != byte, True)
        return Outcome(contents, tuple(trespasses), tuple(self.textures.values()))


def _trespasses(region: Region, changed: Array, is_after: bool) -> list[Trespass]:
    found = np.flatnonzero(changed)
    if not found.size:
        return []
    first = int(found[0]) if is_after else int(found[0]) - changed.size
    return [Trespass(region, is_after, first, int(found.size))]
