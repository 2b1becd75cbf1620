"""Replaces accesses to fields of quantised numbers by accesses to the words that contain them (`ir/types.py`).

    a = x[i]           ->    a = cast ((x_y_bits[i] shr 3) and 31) i32
    x[i] = v           ->    atomic insert x_y_bits[i], (cast v u32 and 31) shl 3, mask 248
    atomic add x[i], v ->    atomic add_bits x_y_bits[i], cast v u32 shl 3, mask 248

Other iterations may store to other bits of a word. So a store is an atomic operation, which `demote_atomics` replaces
by a plain one where no other iteration writes the word.
"""

from __future__ import annotations

from typing import Any

from ...errors import TaichiTypeError
from ...ir.builder import Builder
from ...ir.nodes import Effect, Statement
from ...ir.statements import Array, AtomicOp, Const, GlobalLoad, GlobalPtr, GlobalStore
from ...ir.tasks import Kernel
from ...ir.types import Packing, QuantType, Scalar, Type, f32, i32, i64, mask_of, u32, u64
from ...lazy_dataclasses import dataclass
from ..analysis.accesses import Access, is_safe
from ..analysis.aliasing import underlying_object
from ..checks.parts.index_checks import index_check
from ..context import PassContext
from ..rewrite import DROPPED, Rewriter


def packed_arrays(kernel: Kernel, context: PassContext) -> bool:
    """Rewrite all accesses to fields of quantised numbers; loops over them stay, since they only use the shape."""
    if not any(array.packing for array in context.arrays(kernel)):
        return False
    return _Unpacker(kernel, context.options.check_out_of_bound).run(kernel)


class _Unpacker(Rewriter):
    """Rewrites the accesses. `targets`: arrays and indices of the removed pointers."""

    def __init__(self, kernel: Kernel, checks: bool) -> None:
        super().__init__({GlobalPtr: _pointer, GlobalLoad: _load, GlobalStore: _store, AtomicOp: _atomic})
        self.kernel, self.checks = kernel.name, checks
        self.targets: dict[Statement, tuple[Array, list[Statement]]] = {}
        self.last: tuple[Array, list[Statement], dict[int, Statement], AtomicOp] | None = None
        """The last store to floats with a shared exponent: words, indices, values by shift."""

    def place_of(self, pointer: Statement, origin: Statement) -> Place | None:
        """Return the place of an element whose pointer was removed, None for other pointers."""
        target = self.targets.get(pointer)
        if target is None:
            return None
        array, indices = target
        builder = self.builder(origin)
        if self.checks:
            access = Access(indices, array, array.shape, array.path or array.name)
            if not all(is_safe(access, axis) for axis in range(len(indices))):
                builder.add(index_check(builder, access, self.kernel))
        assert array.packing is not None and array.words is not None
        return _place(builder, array, array.words, array.packing, indices)

    def store_shared(self, place: Place, target: tuple[Array, list[Statement]], value: Statement) -> None:
        """Store a float with a shared exponent; stores to others of the group that follow become one with it.

        Else the first of them would be rounded for the exponent of an old value.
        """
        array, indices = target
        assert array.words is not None
        values = {place.packing.shift: value}
        if self.last is not None:
            words, before, stored, atomic = self.last
            if words is array.words and before == indices and self._is_last_effect(atomic):
                self.out.remove(atomic)
                values = {**stored, **values}
        self.last = array.words, list(indices), values, _store_shared(place, values)

    def _is_last_effect(self, atomic: AtomicOp) -> bool:
        """Return whether nothing after a statement of this block has an effect or reads what it writes."""
        if atomic not in self.out:
            return False
        after = self.out[self.out.index(atomic) + 1 :]
        return not any(
            s.EFFECT & (Effect.WRITE | Effect.CONTROL | Effect.FENCE) or s.BLOCKS for s in after
        ) and not any(
            isinstance(s, GlobalLoad) and underlying_object(s.pointer) is underlying_object(atomic.pointer)
            for s in after
        )


@dataclass(frozen=True, slots=True)
class Place:
    """One element. pointer: to its word; shift: of its lowest bit, a number or a value of type i32."""

    builder: Builder
    packing: Packing
    pointer: Statement
    shift: int | Statement

    def word(self) -> Statement:
        """Load the word."""
        return self.builder.load(self.pointer)

    def number(self, value: int) -> Statement:
        """Return a number of the word's type."""
        return self.builder.const(value, self.packing.word)

    def mask(self, bits: int, shift: int = 0) -> Const:
        """Return a mask of the word's type."""
        return mask_number(self.builder, mask_of(bits, shift), self.packing.word)

    def shifted(self, op: str, value: Statement, shift: int | Statement) -> Statement:
        """Return `value` shifted."""
        if shift.__class__ is int and shift == 0:
            return value
        amount = shift if isinstance(shift, Statement) else self.builder.const(shift, i32)
        return self.builder.op(op, value, amount)

    def change(self, op: str, bits: Statement, count: int) -> Statement:
        """Perform an atomic operation on `count` bits; return the old word."""
        mask: Statement = self.mask(count)
        if isinstance(self.shift, int):
            mask = self.mask(count, self.shift)
        else:
            mask = self.shifted("shl", mask, self.shift)
        bits = self.shifted("shl", bits, self.shift)
        word = self.packing.word
        return self.builder.add(AtomicOp(op, self.pointer, bits, mask, type=word))


def mask_number(builder: Builder, value: int, type: Type | None) -> Const:
    """Return an integer that is written in base 16."""
    return builder.add(Const(value, notation=hex(value) if value > 9 else "", type=type))


def _place(builder: Builder, array: Array, words: Array, packing: Packing, indices: list[Statement]) -> Place:
    """Return the place of an element: with lanes, the word of the indices divided by the extents of a word."""
    if not packing.lanes:
        return Place(builder, packing, builder.add(GlobalPtr(words, indices[:], type=words.element)), packing.shift)
    lane: Statement | None = None
    extents = dict(packing.lanes)
    outer: list[Statement] = []
    for axis, index in enumerate(indices):
        if array.offset:
            index = builder.op("sub", index, builder.const(array.offset[axis]))
        extent = extents.get(axis)
        if extent is None:
            outer.append(index)
            continue
        inner = index
        if axis in packing.outer_axes:
            outer.append(builder.op("floordiv", index, builder.const(extent)))
            inner = builder.op("mod", index, builder.const(extent))
        lane = inner if lane is None else builder.op("add", builder.op("mul", lane, builder.const(extent)), inner)
    assert lane is not None
    shift = builder.op("mul", lane, builder.const(packing.bits)) if packing.bits > 1 else lane
    return Place(builder, packing, builder.add(GlobalPtr(words, outer, type=words.element)), shift)


# --- accesses ---------------------------------------------------------------------------------------------------------


def _pointer(rewriter: Rewriter, pointer: Statement) -> Statement | None:
    assert isinstance(rewriter, _Unpacker) and isinstance(pointer, GlobalPtr)
    if pointer.array.packing is None:
        return None
    rewriter.targets[pointer] = pointer.array, pointer.indices
    return DROPPED


def _load(rewriter: Rewriter, load: Statement) -> Statement | None:
    assert isinstance(rewriter, _Unpacker) and isinstance(load, GlobalLoad)
    place = rewriter.place_of(load.pointer, load)
    return None if place is None else decoded(place, place.word())


def _store(rewriter: Rewriter, store: Statement) -> Statement | None:
    assert isinstance(rewriter, _Unpacker) and isinstance(store, GlobalStore)
    place = rewriter.place_of(store.pointer, store)
    if place is None:
        return None
    if place.packing.shared:
        rewriter.store_shared(place, rewriter.targets[store.pointer], store.value)
    elif place.packing.bits == place.packing.word.bits:
        place.builder.store(place.pointer, encoded(place, store.value))
    else:
        place.change("insert", encoded(place, store.value), place.packing.bits)
    return DROPPED


def _atomic(rewriter: Rewriter, atomic: Statement) -> Statement | None:
    """Rewrite an atomic operation; the bits of integers and fixed-point numbers are added as integers."""
    assert isinstance(rewriter, _Unpacker) and isinstance(atomic, AtomicOp)
    place = rewriter.place_of(atomic.pointer, atomic)
    if place is None:
        return None
    kind, op, builder = place.packing.type.kind, atomic.op, place.builder
    bits = place.packing.bits
    if op in ("add", "sub") and kind != "float":
        value = atomic.value
        value = encoded(place, builder.op("neg", value) if op == "sub" else value)
        return decoded(place, place.change("add_bits", value, bits))
    if op in ("or", "xor", "and") and kind == "int":
        value = place.shifted("shl", encoded(place, atomic.value), place.shift)
        if op == "and":  # all other bits are ones
            ones = place.shifted("shl", place.mask(bits), place.shift)
            value = builder.op("bit_or", value, builder.op("bit_not", ones))
        return decoded(place, builder.atomic(op, place.pointer, value))
    name = f"`atomic_{op}` of {place.packing.type}"
    raise atomic.location.error(
        TaichiTypeError,
        f"{name} is not available: quantised integers have add, sub, and, or and xor, fixed-point numbers add and sub",
        "write `x[i] = x[i] + a` if no other iteration changes this element",
    )


# --- bits and values --------------------------------------------------------------------------------------------------


def _raw(place: Place, word: Statement, shift: int | Statement, bits: int, is_signed: bool) -> Statement:
    """Return `bits` bits of a word as an integer of 32 bits, or of 64 if there are more than 32 of them."""
    builder, width = place.builder, place.packing.word.bits
    if isinstance(shift, int) and is_signed and bits < width <= 32:
        value = builder.cast(place.shifted("shl", word, width - shift - bits), i32)
        return place.shifted("sar", value, 32 - bits)
    value = place.shifted("sar", word, shift)
    size = 64 if bits > 32 else 32
    value = builder.cast(value, u64 if size == 64 else u32)
    if is_signed:
        signed = i64 if size == 64 else i32
        return place.shifted("sar", builder.cast(place.shifted("shl", value, size - bits), signed), size - bits)
    is_all = bits == size or (isinstance(shift, int) and shift + bits == width)
    return value if is_all else builder.op("bit_and", value, mask_number(builder, mask_of(bits), value.type))


def decoded(place: Place, word: Statement) -> Statement:
    """Return the element in a word."""
    type, builder = place.packing.type, place.builder
    if place.packing.shared:
        return _decoded_shared(place, word, place.packing.shift, type)
    if type.kind == "float":
        return builder.cast(_decoded_float(place, word, type), type.compute)
    raw = builder.cast(_raw(place, word, place.shift, type.bits, type.is_signed), type.compute)
    return raw if type.kind == "int" else builder.op("mul", raw, builder.const(type.scale, type.compute))


def encoded(place: Place, value: Statement) -> Statement:
    """Return the bits of a value, from bit 0 of a word on."""
    type, builder, word = place.packing.type, place.builder, place.packing.word
    if type.kind == "float":
        return builder.cast(_encoded_float(place, builder.cast(value, f32), type), word)
    if type.kind == "fixed":
        assert isinstance(value.type, Scalar)
        scaled = builder.op("mul", value, builder.const(1 / type.scale, value.type))
        zero, below, above = (builder.const(number, value.type) for number in (0.0, -0.5, 0.5))
        half = builder.op("select", builder.op("lt", scaled, zero), below, above)
        value = builder.cast(builder.op("add", scaled, half), i32)
    if isinstance(value, Const):
        return place.number(int(value.value) & mask_of(type.bits))
    value = builder.cast(value, word)
    return value if type.bits == word.bits else builder.op("bit_and", value, place.mask(type.bits))


def _decoded_float(place: Place, word: Statement, type: QuantType) -> Statement:
    """Return a float of type f32; it is 0 if the exponent is."""
    builder, digits, exponent_bits = place.builder, type.digits, type.exponent_bits

    def number(value: int) -> Statement:
        return builder.const(value, u32)

    code = _raw(place, word, place.shift, exponent_bits + digits, False)
    bits = place.shifted("shl", builder.op("add", code, number(type.bias_difference << digits)), 23 - digits)
    value = builder.bit_cast(bits, f32)
    if type.is_signed:
        top: Any = exponent_bits + digits
        if isinstance(place.shift, int):
            top += place.shift
        else:
            top = builder.op("add", place.shift, builder.const(top))
        sign = builder.op("eq", _raw(place, word, top, 1, False), number(0))
        value = builder.op("select", sign, value, builder.op("neg", value))
    is_zero = builder.op("lt", code, number(1 << digits))
    return builder.op("select", is_zero, builder.const(0.0, f32), value)


def _encoded_float(place: Place, value: Statement, type: QuantType) -> Statement:
    """Return the code of a float of type f32, in u32: rounded in its bits, with another bias."""
    builder, digits, exponent_bits = place.builder, type.digits, type.exponent_bits

    def number(value: int) -> Statement:
        return builder.const(value, u32)

    bits = builder.bit_cast(value, u32)
    magnitude = builder.op("bit_and", bits, mask_number(builder, mask_of(31), u32))
    if digits < 23:
        magnitude = builder.op("add", magnitude, number(1 << (22 - digits)))
    magnitude = place.shifted("sar", magnitude, 23 - digits)
    first = (type.bias_difference + 1) << digits
    code = builder.op("sub", magnitude, number(type.bias_difference << digits))
    if exponent_bits < 8:
        code = builder.op("bit_and", code, mask_number(builder, mask_of(exponent_bits + digits), u32))
    if type.is_signed:
        sign = place.shifted("sar", bits, 31)
        code = builder.op("bit_or", code, place.shifted("shl", sign, exponent_bits + digits))
    return builder.op("select", builder.op("lt", magnitude, number(first)), number(0), code)


# --- floats with a shared exponent ------------------------------------------------------------------------------------


def _unit(builder: Builder, exponent: Statement, type: QuantType) -> Statement:
    """Return 2 to the power that an exponent means, as f32."""
    biased = builder.op("add", exponent, builder.const(type.bias_difference, u32))
    return builder.bit_cast(builder.op("shl", biased, builder.const(23, i32)), f32)


def _decoded_shared(place: Place, word: Statement, shift: int, type: QuantType) -> Statement:
    """Return a float: its digits times the unit of the shared exponent."""
    builder, digits = place.builder, type.digits
    exponent = _raw(place, word, place.packing.exponent, type.exponent_bits, False)
    size = builder.cast(_raw(place, word, shift, digits, False), f32)
    value = builder.op("mul", size, builder.const(2.0 ** (1 - digits), f32))
    value = builder.op("mul", value, _unit(builder, exponent, type))
    if type.is_signed:
        sign = builder.op("eq", _raw(place, word, shift + digits, 1, False), builder.const(0, u32))
        value = builder.op("select", sign, value, builder.op("neg", value))
    return builder.cast(value, type.compute)


def _store_shared(place: Place, given: dict[int, Statement]) -> AtomicOp:
    """Store floats by shift: the exponent becomes that of the largest, and the digits of all are made again."""
    builder, packing = place.builder, place.packing
    word = place.word() if len(given) < len(packing.shared) else None
    values = []
    for shift, type in packing.shared:
        value = given.get(shift)
        if value is None:
            assert word is not None
            value = _decoded_shared(place, word, shift, type)
        values.append(builder.cast(value, f32))
    bits = [builder.bit_cast(each, u32) for each in values]
    type = packing.type
    least = builder.const(type.bias_difference, u32)
    largest: Statement = least
    for each in bits:
        exponent = builder.op("bit_and", place.shifted("sar", each, 23), mask_number(builder, 255, u32))
        largest = builder.op("max", largest, exponent)
    shared = builder.op("sub", largest, least)
    is_zero = builder.op("eq", shared, builder.const(0, u32))
    unit = _unit(builder, builder.op("max", shared, builder.const(1, u32)), type)
    exponent_mask = mask_of(type.exponent_bits)
    lowest = builder.op("bit_and", shared, mask_number(builder, exponent_mask, u32))
    new = place.shifted("shl", builder.cast(lowest, packing.word), packing.exponent)
    mask = exponent_mask << packing.exponent
    for (shift, member), each, pattern in zip(packing.shared, values, bits, strict=True):
        code = _digits(place, each, pattern, unit, is_zero, member)
        new = builder.op("bit_or", new, place.shifted("shl", builder.cast(code, packing.word), shift))
        mask |= mask_of(member.bits, shift)
    number = mask_number(builder, mask, packing.word)
    return builder.add(AtomicOp("insert", place.pointer, new, number, type=packing.word))


def _digits(
    place: Place, value: Statement, bits: Statement, unit: Statement, is_zero: Statement, type: QuantType
) -> Statement:
    """Return sign and digits of a float for the unit of the shared exponent; u32."""
    builder, digits = place.builder, type.digits
    size = builder.op("abs", value)
    size = builder.op("mul", builder.op("div", size, unit), builder.const(2.0 ** (digits - 1), f32))
    count = builder.cast(builder.op("add", size, builder.const(0.5, f32)), u32)
    count = builder.op("min", count, builder.const(mask_of(digits), u32))
    code = builder.op("select", is_zero, builder.const(0, u32), count)
    if not type.is_signed:
        return code
    return builder.op("bit_or", code, place.shifted("shl", place.shifted("sar", bits, 31), digits))
