"""The results of a kernel in f64: what rounding is measured by.

In: the call of a kernel and the memory that it reaches. Out: the numbers that the kernel gives if all its floats are
f64, by output. The kernel's IR is compiled once more, for the host, with f64 in place of f16 and f32. So a sum that is
more exact than that of the generated source is known for what it is, and one that is less exact too. There is none
for kernels whose results depend on the width of floats: bit casts, random numbers, sparse trees, textures, gradients;
and none for functions of subgroups, if those of the device have another size than the host's.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from ....transpiler.backend.module.interface import PACK_CODES, ArrayBinding, BackendModule, Interface
from ....transpiler.errors import TaichiCompilationError, TaichiRuntimeError
from ....transpiler.frontend.builders.build import build
from ....transpiler.frontend.source.specialization import Specialization
from ....transpiler.ir.forms import FrontendResult
from ....transpiler.ir.nodes import walk
from ....transpiler.ir.serialize.serialize import parse, serialize
from ....transpiler.ir.tasks import Kernel
from ....transpiler.ir.threads import COLLECTIVES, SUBGROUP_SIZE, Collective, ThreadIndex
from ....transpiler.lang.arch import cpu
from ...arrays.foreign import dense_strides
from ...arrays.memory import Array
from ...cache.compiler import compile_source
from ...devices.capabilities import portable
from .outputs import Located, Outputs, labelled, parts_of_index, results
from .process.runners import IsolatedRunner
from .replicas import PATTERNS, Pointer, Recording, Region
from .values import Values

NARROW = re.compile(r"\bf(?:16|32)\b")
TYPED = frozenset({"type", "element", "elements", "returns", "structs"})
"""Members of the IR's JSON that hold types."""
WIDTH_DEPENDENT = re.compile(r'"(?:Rand|Activate|[A-Za-z]*Tex(?:ture|el)\w*)": \{|"Cast": \{[^{}]*"bits": true')
"""Statements whose results are others, or mean nothing, if floats are wider."""
ADDRESSES = 1 << 40
"""Distance of the addresses by which regions are distinguished; nothing is there."""
MAX_BYTES = 1 << 28
"""Memory beyond which no reference is computed."""
SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class _Host:
    """What a process on the host needs to know of a session."""

    arch: Any
    config: Any
    device: Any


@dataclass(frozen=True, slots=True)
class _Device:
    """The host's device, whatever its title is."""

    title: str = ""


@dataclass(frozen=True, slots=True)
class _Call:
    """The launchable of a reference: its module."""

    session: Any
    generated: BackendModule


class Reference:
    """The reference of one call. reason: why there is none."""

    def __init__(self, specialization: Specialization, outputs: Outputs) -> None:
        self._specialization, self._outputs = specialization, outputs
        self.reason = _reason(outputs)
        self._found: dict[str, Values] | None = None

    def values(self) -> dict[str, Values]:
        """Return all numbers by label, floats as f64; {} if there is no reference."""
        if self._found is None:
            self._found = {}
            if not self.reason:
                try:
                    self._found = self._computed()
                except (TaichiCompilationError, TaichiRuntimeError, NotImplementedError) as error:
                    self.reason = str(getattr(error, "message", error)).splitlines()[0]
        return self._found

    def _computed(self) -> dict[str, Values]:
        module = _wide_module(self._specialization)
        recording, arrays = _wide_recording(module, self._outputs)
        session: Any = _Host(cpu, self._outputs.recording.launchable.session.config, _Device())
        with closing(IsolatedRunner(session, SECONDS)) as runner:
            runner.take(recording)
            contents = runner.run("reference", module, (), PATTERNS[0]).contents
        numbers = [values for one in arrays for values in one.values(contents[one.region])]
        return labelled([*numbers, *results(module.interface, contents)])


def _reason(outputs: Outputs) -> str:
    """Return why a call can have no reference; "" if it may have one."""
    recording = outputs.recording
    sources = {member.source[0] for member in outputs.interface.members}
    if outputs.trees or "capacity" in sources:
        return "it uses a sparse tree"
    if recording.textures:
        return "it uses textures"
    if "gradient" in sources:
        return "it uses gradients"
    if sum(region.size_bytes for region in recording.regions) > MAX_BYTES:
        return "it uses too much memory"
    if _overlap(outputs.located):
        return "its arguments share memory"
    return ""


def _overlap(located: list[Located]) -> bool:
    """Return whether arrays share elements."""
    here: dict[Region, Array] = {}
    for one in located:
        if one.region not in here:
            here[one.region] = np.zeros(one.region.size_bytes, np.uint8)
        mask = np.zeros(one.region.size_bytes, np.uint8)
        one.mark(mask)
        if (here[one.region] & mask).any():
            return True
        here[one.region] |= mask
    return False


# --- the module


def _wide_module(specialization: Specialization) -> BackendModule:
    """Return the kernel with f64 for all floats, for the host. Raises: NotImplementedError where that means nothing."""
    options = replace(specialization.options, fast_math=False)
    wide = replace(specialization, capabilities=portable("c"), options=options)
    size = specialization.capabilities.subgroup_size

    def frontend(specialization: Specialization) -> FrontendResult:
        result = build(specialization)
        if size != SUBGROUP_SIZE and _uses_subgroups(result.kernel):
            raise NotImplementedError(f"subgroups have {size} threads on the device, {SUBGROUP_SIZE} on the host")
        return replace(result, kernel=parse(_widened(serialize(result.kernel))))

    return compile_source(wide, frontend=frontend).module


def _uses_subgroups(kernel: Kernel) -> bool:
    """Return whether results depend on which threads are a subgroup."""
    return any(
        (isinstance(s, Collective) and COLLECTIVES[s.op].scope == "subgroup")
        or (isinstance(s, ThreadIndex) and s.kind in ("lane", "size"))
        for root in kernel.roots()
        for s in walk(root)
    )


def _widened(text: str) -> str:
    if WIDTH_DEPENDENT.search(text):
        raise NotImplementedError("its results depend on the width of floats")
    return json.dumps(_in_wide_types(json.loads(text), False))


def _in_wide_types(data: Any, is_type: bool) -> Any:
    """Return a JSON value with f64 for other floats, in members that hold types."""
    if isinstance(data, dict):
        return {key: _in_wide_types(value, is_type or key in TYPED) for key, value in data.items()}
    if isinstance(data, list):
        return [_in_wide_types(value, is_type) for value in data]
    return NARROW.sub("f64", data) if is_type and isinstance(data, str) else data


# --- the memory


def _wide_recording(module: BackendModule, outputs: Outputs) -> tuple[Recording, list[Located]]:
    """Return the call of the wide module on converted copies, and where its arrays are, in the order of `outputs`."""
    interface, old = module.interface, outputs.recording
    slots = {name: number for number, name in enumerate(_unique(interface.arrays))}
    regions: dict[Any, Region] = {}
    by_slot: dict[int, Located] = {}
    arrays: list[Located] = []
    used = [one for one in outputs.located if one.owner is not None]  # not the other fields of a tree
    for narrow, name in zip(used, _unique(one.slot for one in used), strict=True):
        number = slots.get(name, -1)
        if number < 0:
            raise NotImplementedError(f"`{narrow.slot.name}` is no array of it")
        arrays.append(_placed(narrow, interface.arrays[number], number, regions))
        by_slot[number] = arrays[-1]
    _fill(regions, arrays, used)
    packed, pointers = bytearray(interface.args_size_bytes), []
    for member in interface.members:
        kind = member.source[0]
        if kind in ("pointer", "temporaries", "result", "report"):
            key = member.source[1] if kind == "pointer" else kind
            if kind != "pointer":
                regions[kind] = _own_region(kind, interface, len(regions), old)
            pointers.append(Pointer(member.offset_bytes, regions[key].begin, regions[key], -1))
        else:
            value = _packed_value(member.source, old, by_slot)
            struct.pack_into(f"<{PACK_CODES[member.type]}", packed, member.offset_bytes, value)
    call: Any = _Call(old.launchable.session, module)
    return Recording(call, bytes(packed), (), {}, tuple(regions.values()), tuple(pointers), ()), arrays


def _unique(slots: Iterable[ArrayBinding]) -> Iterator[str]:
    """Yield names of arrays, made unique by their order."""
    seen: dict[str, int] = {}
    for slot in slots:
        seen[slot.name] = seen.get(slot.name, 0) + 1
        yield f"{slot.name} {seen[slot.name]}"


def _placed(narrow: Located, slot: ArrayBinding, number: int, regions: dict[Any, Region]) -> Located:
    """Return where the wide array is, in the region of its pointer, which grows to hold it."""
    dtype = _wide_dtype(narrow.dtype)
    size = prod(slot.element_shape) * dtype.itemsize
    if slot.place is not None:
        extents, strides, shape = parts_of_index(slot.place, narrow.shape)
        owner, begin = slot.place.slot, slot.place.begin_bytes
    else:
        shape = extents = narrow.shape
        strides, owner, begin = dense_strides(shape, size), number, 0
    last = sum((extent - 1) * stride for extent, stride in zip(extents, strides, strict=True))
    end = 0 if 0 in extents else begin + last + size
    region = regions.get(owner)
    if region is None:
        address = ADDRESSES * (len(regions) + 1)
        region = regions[owner] = Region(slot.name, address, 0, "data", None, np.zeros(0, np.uint8))
    region.size_bytes = max(region.size_bytes, end)
    return Located(slot, region, dtype, begin, extents, strides, shape, slot.element_shape, narrow.owner)


def _wide_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type of NumPy with f8 for other floats, laid out as structs of kernels are."""
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return np.dtype((_wide_dtype(inner), shape))
    if dtype.names is None:
        return np.dtype(np.float64) if dtype.kind == "f" else dtype
    assert dtype.fields is not None
    return np.dtype([(name, _wide_dtype(dtype.fields[name][0])) for name in dtype.names], align=True)


def _fill(regions: dict[Any, Region], arrays: list[Located], originals: list[Located]) -> None:
    """Give the regions the converted contents of the originals."""
    for region in regions.values():
        region.contents = np.zeros(region.size_bytes, np.uint8)
    for wide, narrow in zip(arrays, originals, strict=True):
        if 0 not in wide.extents:
            target, source = wide.seen_in(wide.region.contents), narrow.seen_in(narrow.region.contents)
            with np.errstate(invalid="ignore"):
                target[...] = source.reshape(target.shape)


def _own_region(kind: str, interface: Interface, count: int, old: Recording) -> Region:
    """Return the region of temporaries, results or reports."""
    if kind == "report":
        contents = next(region.contents for region in old.regions if region.role == "report")
    else:
        size = interface.temporaries_size_bytes if kind == "temporaries" else interface.result_size_bytes
        contents = np.zeros(size, np.uint8)
    return Region(kind, ADDRESSES * (count + 1), contents.size, kind, None, contents)


def _packed_value(source: tuple[Any, ...], old: Recording, by_slot: dict[int, Located]) -> Any:
    """Return the value of a member of `Args` that is no address."""
    kind = source[0]
    if kind in ("argument", "seed"):
        return old.values[source]
    if kind == "begin":
        return 0
    if kind not in ("shape", "stride") or source[1] not in by_slot:
        raise NotImplementedError(f"it takes a {kind}")
    shape = by_slot[source[1]].shape
    return shape[source[2]] if kind == "shape" else prod(shape[source[2] + 1 :])
