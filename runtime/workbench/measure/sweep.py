"""The call of a kernel with arrays of other sizes: an edit that is right for the call's sizes only is found.

In: the recording of a call. Out: recordings of calls that were never made, with other extents of the ndarrays, the
integers that follow from them, and values drawn in the manner of the originals. Equal extents stay equal; extents that
differ by one or two, or of which one is a multiple or the product of two others, keep that relation. Fields have the
size that they have.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from ....transpiler.backend.module.divisors import packed_divisor
from ....transpiler.backend.module.interface import PACK_CODES, Expression, Interface
from ....transpiler.ir.ops import OPS
from ...arrays.memory import Array
from .outputs import Located, Outputs
from .replicas import ALIGNMENT, Pointer, Recording, Region

if TYPE_CHECKING:
    from ....transpiler.backend.module.interface import BackendModule

SEED = 14
SMALL = 4
"""Extents up to this are those of vectors and stay, unless all extents are small."""
NEAR = 2
MOST_TIMES = 4096
"""Extents of which one is a multiple of the other up to so many times keep the ratio."""
ODD = (7, 5, 3, 11)
LEAST_LARGE = 4096
"""Half the elements of the size beyond a block: the host starts several threads from 8,192 iterations on."""
MAX_BYTES = 1 << 26
"""Memory of one swept call."""
ADDRESSES = 1 << 40
"""Distance of the addresses by which regions are distinguished; nothing is there."""


@dataclass(frozen=True, slots=True)
class Case:
    """One set of sizes. name: what is special about it; extents: the new extent by the one in the call."""

    name: str
    extents: Mapping[int, int]


class Sweep:
    """The sizes with which a call is repeated. reason: why there are none."""

    def __init__(self, outputs: Outputs, modules: Sequence[BackendModule]) -> None:
        self._outputs, self._old = outputs, outputs.recording
        self._arrays = {
            number: located
            for number, located in _by_slot(outputs).items()
            if located.slot.parameter is not None and located.slot.place is None
        }
        self.reason = self._why_fixed()
        block = max((task.iterations_per_block for module in modules for task in module.tasks), default=1)
        self._large = max(LEAST_LARGE, 2 * block)

    def _why_fixed(self) -> str:
        regions = [located.region for located in self._arrays.values()]
        if not regions:
            return "it takes no array"
        if len(set(regions)) < len(regions):
            return "its arguments share memory"
        if any(member.source[0] == "capacity" for member in self._outputs.interface.members) or self._outputs.trees:
            return "it uses a sparse tree"
        return ""

    # --- sizes

    def cases(self) -> Iterator[tuple[Case, ...]]:
        """Yield sizes; of each, further ones to try if the generated source takes the earlier ones amiss."""
        if self.reason:
            return
        bases, derived = self._relations()
        largest = [extent for extent in bases if extent == max(bases)]
        axes = max(len(located.shape) for located in self._arrays.values())
        for name, new in self._sizes(axes):
            sets = []
            for varied in (bases, largest):
                extents = {old: old for old in (*bases, *derived)}
                extents |= {old: new(old, number) for number, old in enumerate(varied)}
                for old in sorted(derived):
                    extents[old] = max(0, derived[old](extents))
                case = Case(name, extents)
                if case not in sets and any(extents[old] != old for old in extents) and self._fits(extents):
                    sets.append(case)
            if sets:
                yield tuple(sets)

    def _sizes(self, axes: int) -> Iterator[tuple[str, Any]]:
        side = 2 * self._large + 37 if axes == 1 else int((2 * self._large) ** (1 / axes)) | 1
        yield "empty", lambda old, number: 0
        yield "one element", lambda old, number: 1
        yield "odd", lambda old, number: ODD[number % len(ODD)]
        yield "beyond a block", lambda old, number: side + 2 * number
        yield "one more", lambda old, number: old + 1 + number
        yield "half more", lambda old, number: (old + old // 2 + number) | 1
        yield "twice", lambda old, number: 2 * old + 3 + 2 * number

    def _relations(self) -> tuple[list[int], dict[int, Any]]:
        """Return the extents that vary freely, and how others follow from them."""
        found = sorted({extent for located in self._arrays.values() for extent in located.shape})
        if found and found[-1] > SMALL:
            found = [extent for extent in found if extent > SMALL or extent == 0]
        bases: list[int] = []
        derived: dict[int, Any] = {}
        for extent in found:
            rule = _rule(extent, [*bases, *derived])
            if rule is None:
                bases.append(extent)
            else:
                derived[extent] = rule
        return sorted(bases, reverse=True), derived

    def _fits(self, extents: Mapping[int, int]) -> bool:
        sizes = (prod(self._new_shape(one, extents)) * one.item_bytes for one in self._arrays.values())
        return sum(sizes) <= MAX_BYTES

    def _new_shape(self, located: Located, extents: Mapping[int, int]) -> tuple[int, ...]:
        return tuple(extents.get(extent, extent) for extent in located.shape)

    def described(self, case: Case) -> str:
        """Return the shapes of a case: `a (7, 5), b (7,)`."""
        seen = {one.slot.name: self._new_shape(one, case.extents) for one in self._arrays.values()}
        return ", ".join(f"{name} {shape}" for name, shape in seen.items())

    def facts(self, case: Case) -> dict[str, Any]:
        """Return what a `@when` rule reads in a case: arguments by name, arrays with their shapes."""
        call: Any = self._old.launchable
        names = [parameter.name for parameter in call.specialization.definition.flat_parameters]
        found = dict(zip(names, call.args, strict=False))
        for position, name in enumerate(names):
            value = self._old.values.get(("argument", position, 0))
            if isinstance(value, int):
                found[name] = self._new_number(value, case.extents)
        for one in self._arrays.values():
            shape = self._new_shape(one, case.extents)
            found[names[one.slot.parameter or 0]] = SimpleNamespace(shape=shape, ndim=len(shape))
        return {
            "target": call.generated.target,
            "device": "",
            "arch": "",
            **dict(call.specialization.capabilities.extra),
            **found,
        }

    # --- the recording of a case

    def recording(self, case: Case) -> Recording:
        """Return a call with these sizes."""
        random = np.random.default_rng(SEED)
        regions: dict[Region, Region] = {}
        for number, located in enumerate(self._arrays.values()):
            elements = drawn(located, self._new_shape(located, case.extents), random, case.extents)
            begin = ADDRESSES * (number + 1) + located.region.begin % ALIGNMENT
            contents = elements.reshape(-1).view(np.uint8) if elements.size else np.zeros(0, np.uint8)
            regions[located.region] = Region(located.slot.name, begin, contents.size, "data", None, contents)
        values = self._new_values(case)
        packed = bytearray(self._old.packed)
        for member in self._outputs.interface.members:
            if values[member.source] != self._old.values[member.source]:
                struct.pack_into(f"<{PACK_CODES[member.type]}", packed, member.offset_bytes, values[member.source])
        pointers = [
            Pointer(p.offset_bytes, regions[p.region].begin, regions[p.region], p.slot) if p.region in regions else p
            for p in self._old.pointers
        ]
        owners = [
            SimpleNamespace(shape=self._new_shape(self._arrays[number], case.extents), element=None)
            if number in self._arrays else owner
            for number, owner in enumerate(self._old.owners)
        ]  # fmt: skip
        found = replace(
            self._old, packed=bytes(packed), values=values, pointers=tuple(pointers), owners=tuple(owners),
            regions=tuple(regions.get(region, region) for region in self._old.regions),
        )  # fmt: skip
        return replace(found, counts=counts_in(found, self._old.launchable.generated))

    def _new_values(self, case: Case) -> dict[tuple[Any, ...], Any]:
        """Return what is packed, by source."""
        values = dict(self._old.values)
        types = {member.source: member.type for member in self._outputs.interface.members}
        for source, value in self._old.values.items():
            if source[0] == "argument" and types[source][0] in "iu" and types[source] != "u1":
                values[source] = self._new_number(value, case.extents)
            elif source[0] in ("shape", "stride", "begin") and source[1] in self._arrays:
                shape = self._new_shape(self._arrays[source[1]], case.extents)
                if source[0] == "begin":
                    values[source] = 0
                else:
                    axis = source[2]
                    values[source] = shape[axis] if source[0] == "shape" else prod(shape[axis + 1 :])
        return values | packed_divisors(self._outputs.interface, values)

    def _new_number(self, value: int, extents: Mapping[int, int]) -> int:
        """Return an integer argument, which follows an extent or the number of elements that it is near."""
        if value in extents and (value > SMALL or max(extents) <= SMALL):
            return extents[value]
        for located in self._arrays.values():
            if value == prod(located.shape) and value > SMALL:
                return prod(self._new_shape(located, extents))
        for old, new in extents.items():
            if old > 2 * SMALL and 0 < abs(value - old) <= NEAR:
                return max(0, new + value - old)
        return value


def _by_slot(outputs: Outputs) -> dict[int, Located]:
    slots = {id(slot): number for number, slot in enumerate(outputs.interface.arrays)}
    return {slots[id(one.slot)]: one for one in outputs.located if id(one.slot) in slots}


def _rule(extent: int, known: Sequence[int]) -> Any:
    """Return how an extent follows from known, smaller ones, None if it does not."""
    for other in known:
        if 0 < extent - other <= NEAR and other > SMALL:
            return lambda new, other=other: new[other] + extent - other
    for other in known:
        if other > SMALL and extent % other == 0 and other * other != extent and extent // other <= MOST_TIMES:
            return lambda new, other=other: new[other] * (extent // other)
    for one in known:
        for other in known:
            if one * other == extent and min(one, other) > SMALL:
                return lambda new, one=one, other=other: new[one] * new[other]
    return None


# --- values


def drawn(located: Located, shape: tuple[int, ...], random: np.random.Generator, extents: Mapping[int, int]) -> Array:
    """Return an array of another shape whose elements are drawn from those of the original.

    Ascending numbers stay ascending, permutations stay permutations, and indices stay below the extent they index.
    """
    original = located.seen_in(located.region.contents).reshape((-1, *located.element_shape))
    count, size = prod(shape), len(original)
    full = (*shape, *located.element_shape)
    if count == 0 or size == 0:
        return np.zeros(full, located.dtype)
    is_plain = not located.element_shape and located.dtype.names is None and size > 1
    if is_plain and located.dtype.kind in "iu" and len(shape) == 1 and _is_permutation(original):
        return random.permutation(count).astype(located.dtype)
    if is_plain and len(shape) == 1 and _ascends(original):
        places = np.linspace(0, size - 1, count).round().astype(np.int64)
    else:
        places = random.integers(0, size, count)
    found: Array = np.ascontiguousarray(original[places])
    if is_plain and located.dtype.kind in "iu":
        found = _within(found, original, extents)
    return found.reshape(full)


def _is_permutation(values: Array) -> bool:
    return bool(values.min() == 0 and values.max() == len(values) - 1 and len(np.unique(values)) == len(values))


def _ascends(values: Array) -> bool:
    return bool((values[1:] >= values[:-1]).all() and values[0] != values[-1])


def _within(found: Array, original: Array, extents: Mapping[int, int]) -> Array:
    """Return integers that stay indices, or ends, of the axis that they were indices of."""
    low, high = int(original.min()), int(original.max())
    axis = next((old for old in sorted(extents) if old // 2 <= high <= old), 0)
    if low < 0 or high <= SMALL or not axis:
        return found
    new = extents[axis]
    if _ascends(original) and high == axis:  # ends of rows
        return (found.astype(np.int64) * new // axis).astype(found.dtype)
    return (found % max(1, new)).astype(found.dtype) if new < axis else found


# --- trip counts


def counts_in(recording: Recording, module: BackendModule) -> tuple[int, ...]:
    """Return the trip count of each task of a module in a recorded call, as its launcher computes it."""
    counts = []
    for task in module.tasks:
        if task.kind == "serial":
            counts.append(1)
        elif task.extents is None:
            counts.append(-1)
        else:
            extents = (_value(extent, module.interface, recording.values) for extent in task.extents)
            counts.append(prod(max(0, extent) for extent in extents))
    return tuple(counts)


def packed_divisors(interface: Interface, values: Mapping[tuple[Any, ...], Any]) -> dict[tuple[Any, ...], int]:
    """Return what is packed for divisors, by source. values: of other members, by source."""
    numbers = (_value(expression, interface, values) for expression in interface.divisors)
    return {("divisor", k): packed_divisor(number) for k, number in enumerate(numbers)}


def _value(expression: Expression, interface: Interface, values: Mapping[tuple[Any, ...], Any]) -> int:
    kind, *operands = expression
    if kind == "const":
        return int(operands[0])
    if kind == "member":
        return int(values[interface.members[operands[0]].source])
    numbers = [f"({_value(operand, interface, values)})" for operand in operands]
    return int(eval(OPS[kind].host.format(*numbers), {"__builtins__": {"min": min, "max": max, "abs": abs}}))
