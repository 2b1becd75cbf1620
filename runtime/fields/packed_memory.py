"""The memory of a field of quantised numbers: the words that contain them, read and written as NumPy arrays.

In: the field of the words and a `Packing`. Out: `PackedMemory`, with the operations of `Memory` on whole fields, and
the functions that make numbers of words and words of numbers, as the pass `packed_arrays` does in kernels.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...transpiler.ir.types import Packing, QuantType, mask_of
from ..arrays.memory import Array, Owner


class PackedMemory:
    """Owns no memory; `words`: the field that does. shape: of the field of quantised numbers."""

    __slots__ = ("packing", "shape", "words")
    allocation = None
    mirrored = True
    partial = True
    is_scattered = False
    """As `Memory.is_scattered`; the words of numbers with a shared exponent are the host's to write."""
    locate = locate_to_store = byte_range = None

    def __init__(self, words: Any, packing: Packing, shape: tuple[int, ...]) -> None:
        self.words, self.packing, self.shape = words, packing, shape

    @property
    def whole(self) -> Any:
        """The memory of the words."""
        return self.words.memory

    @property
    def session(self) -> Owner:
        """The session of the words."""
        owner: Owner = self.whole.session
        return owner

    def read_all(self) -> Array:
        """Return all elements as a new array."""
        words, shifts = self._spread(self.whole.read_all())
        return decode(words, self.packing, shifts).astype(self.packing.type.compute.numpy)

    def write_all(self, values: Array) -> None:
        """Set all elements from an array of equal shape."""
        words = self.whole.read_all()
        spread, shifts = self._spread(words)
        new = encode(spread, np.asarray(values), self.packing, shifts)
        self.whole.write_all(self._gathered(new))

    def fill(self, value: Array) -> None:
        """Set every element to `value`."""
        self.write_all(np.broadcast_to(value, self.shape))

    def copy_from(self, other: Any) -> None:
        """Copy another memory of equal shape."""
        self.write_all(other.read_all())

    def refresh_lazily(self) -> None:
        """Do nothing: `read_all` refreshes the words."""

    def end(self) -> None:
        """Do nothing: the words own the memory."""

    def _spread(self, words: Array) -> tuple[Array, Array | int]:
        """Return the word of each element, and the shift in it."""
        packing = self.packing
        if not packing.lanes:
            return words, packing.shift
        index = np.indices(self.shape)
        outer, lane = place_of(packing, index, self.shape)
        spread = words[tuple(outer)] if outer else np.broadcast_to(words, self.shape)
        return spread, (lane * packing.bits).astype(words.dtype)

    def _gathered(self, spread: Array) -> Array:
        """Return the words of elements that were changed one by one: each has its bits in its copy of the word."""
        packing = self.packing
        if not packing.lanes:
            return spread
        outer, lane = place_of(packing, np.indices(self.shape), self.shape)
        mask = np.left_shift(np.array(mask_of(packing.bits), spread.dtype), (lane * packing.bits).astype(spread.dtype))
        words: Array = self.whole.read_all()
        held = np.zeros_like(words)
        np.bitwise_or.at(held, tuple(outer), mask)
        words &= ~held
        np.bitwise_or.at(words, tuple(outer), spread & mask)
        return words


def place_of(packing: Packing, index: Any, shape: tuple[int, ...]) -> tuple[list[Any], Any]:
    """Return the index of the word and the number of the lane of an element, which counts from 0 along each axis."""
    extents = dict(packing.lanes)
    outer, lane = [], 0
    for axis, position in enumerate(index):
        extent = extents.get(axis)
        if extent is None:
            outer.append(position)
            continue
        if axis in packing.outer_axes:
            outer.append(position // extent)
        lane = lane * extent + position % extent
    return outer, lane


# --- numbers of words -------------------------------------------------------------------------------------------------


def decode(words: Array, packing: Packing, shift: Any) -> Array:
    """Return the elements in words. shift: of each, which differs between lanes."""
    type = packing.type
    if packing.shared:
        return _decode_shared(words, packing, packing.shift, type)
    if type.kind == "float":
        return _decode_float(words, type, shift)
    raw = _bits(words, shift, type.bits)
    signed = raw.astype(np.int64)
    if type.is_signed and type.bits < 64:
        signed = np.where(signed >> (type.bits - 1) & 1, signed - (1 << type.bits), signed)
    values: Array = signed if type.is_signed or type.bits < 64 else raw
    if type.kind == "fixed":
        real = type.compute.numpy.type
        values = values.astype(real) * real(type.scale)
    return values


def encode(words: Array, values: Array, packing: Packing, shift: Any) -> Array:
    """Return words with their elements replaced."""
    type = packing.type
    if packing.shared:
        return _encode_shared(words, values, packing)
    if type.kind == "float":
        code = _encode_float(values.astype(np.float32), type)
    else:
        if type.kind == "fixed":
            real = type.compute.numpy.type
            scaled = values.astype(real) * real(1 / type.scale)
            values = np.trunc(scaled + np.where(scaled < 0, real(-0.5), real(0.5)))
        code = values.astype(np.int64).astype(np.uint64) if values.dtype != np.uint64 else values
    return _inserted(words, code, shift, packing.bits)


def _bits(words: Array, shift: Any, count: int) -> Array:
    result: Array = words.astype(np.uint64) >> np.asarray(shift).astype(np.uint64) & np.uint64(mask_of(count))
    return result


def _inserted(words: Array, code: Array, shift: Any, count: int) -> Array:
    amount = np.asarray(shift).astype(np.uint64)
    mask = np.uint64(mask_of(count))
    others = words.astype(np.uint64) & ~(mask << amount)
    result: Array = (others | (code.astype(np.uint64) & mask) << amount).astype(words.dtype)
    return result


def _decode_float(words: Array, type: QuantType, shift: Any) -> Array:
    digits, size = type.digits, type.exponent_bits + type.digits
    code = _bits(words, shift, size)
    bits = ((code + np.uint64(type.bias_difference << digits)) << np.uint64(23 - digits)).astype(np.uint32)
    value = np.where(code < 1 << digits, np.float32(0), bits.view(np.float32))
    if type.is_signed:
        sign = _bits(words, np.asarray(shift) + size, 1)
        value = np.where((sign != 0) & (value != 0), -value, value)
    result: Array = value
    return result


def _encode_float(values: Array, type: QuantType) -> Array:
    digits = type.digits
    bits = np.ascontiguousarray(values).view(np.uint32).astype(np.int64).reshape(values.shape)
    magnitude = bits & mask_of(31)
    if digits < 23:
        magnitude = magnitude + (1 << (22 - digits))
    magnitude >>= 23 - digits
    code = (magnitude - (type.bias_difference << digits)) & mask_of(type.exponent_bits + digits)
    if type.is_signed:
        code |= (bits >> 31) << (type.exponent_bits + digits)
    return np.where(magnitude < (type.bias_difference + 1) << digits, 0, code)


def _decode_shared(words: Array, packing: Packing, shift: int, type: QuantType) -> Array:
    exponent = _bits(words, packing.exponent, type.exponent_bits)
    unit = ((exponent + np.uint64(type.bias_difference)) << np.uint64(23)).astype(np.uint32).view(np.float32)
    size: Array = _bits(words, shift, type.digits).astype(np.float32) * np.float32(2.0 ** (1 - type.digits)) * unit
    if not type.is_signed:
        return size
    negative: Array = np.where(_bits(words, shift + type.digits, 1) != 0, -size, size)
    return negative


def _encode_shared(words: Array, values: Array, packing: Packing) -> Array:
    type = packing.type
    members = [
        values.astype(np.float32) if shift == packing.shift else _decode_shared(words, packing, shift, member)
        for shift, member in packing.shared
    ]
    patterns = [np.ascontiguousarray(each).view(np.uint32).astype(np.int64).reshape(each.shape) for each in members]
    largest = np.maximum(type.bias_difference, np.maximum.reduce([(p >> 23) & 255 for p in patterns]))
    shared = largest - type.bias_difference
    units = ((np.maximum(shared, 1) + type.bias_difference) << 23).astype(np.uint32).view(np.float32)
    words = _inserted(words, shared, packing.exponent, type.exponent_bits)
    for (shift, member), each, pattern in zip(packing.shared, members, patterns, strict=True):
        digits = member.digits
        size = np.abs(each) / units * np.float32(2.0 ** (digits - 1)) + np.float32(0.5)
        code = np.where(shared == 0, 0, np.minimum(size, mask_of(digits)).astype(np.int64))
        if member.is_signed:
            code |= (pattern >> 31) << digits
        words = _inserted(words, code, shift, member.bits)
    return words
