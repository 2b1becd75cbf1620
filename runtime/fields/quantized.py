"""Fields of quantised numbers, and what they are placed in: `ti.BitpackedFields` and quantised arrays.

In: fields made with a type of `ti.types.quant`. Out: one field of words for each `BitpackedFields` and each array,
which is placed in the tree, and the fields of numbers, which read and write its bits.
"""

from __future__ import annotations

from math import prod
from typing import Any
from weakref import ref

import numpy as np

from ...transpiler.errors import TaichiRuntimeError, TaichiSyntaxError, TaichiTypeError
from ...transpiler.ir.snodes import Node
from ...transpiler.ir.types import Packing, QuantTensor, QuantType, Scalar, Tensor, Type, u32, u64
from ...transpiler.lang.describe import ArrayDescription, Step, steps_of
from ..session.session import current
from ..session.tracebacks import hides_own_frames, hides_own_frames_of
from .field import MAKERS, MatrixField, ScalarField, unplaced
from .packed_memory import PackedMemory, decode, encode, place_of
from .snodes import SNode

PLACE_IT = "`b = ti.BitpackedFields(max_num_bits=32); b.place(x); ti.root.dense(ti.i, n).place(b)`"


class WordField(ScalarField):
    """The words of quantised fields. members: these fields, as weak references."""

    __slots__ = ("members",)
    members: list[ref[Any]]

    def living_members(self) -> list[Any]:
        """Return those members that are alive."""
        return [field for weak in self.members if (field := weak()) is not None]


class QuantizedField(ScalarField):
    """A field of quantised numbers; in kernels and in Python its elements have the type `quant.compute`."""

    __slots__ = ("packing", "quant", "words")
    quant: QuantType
    words: WordField
    packing: Packing

    def become_packed(self, words: WordField, packing: Packing, shape: tuple[int, ...], node: SNode) -> None:
        """Use the bits `packing` of `words` from now on."""
        self.words, self.packing, self.shape, self.offset, self.node = words, packing, shape, words.offset, node
        words.members.append(ref(self))
        self.parts = None
        self.memory, self.allocation = PackedMemory(words, packing, shape), None
        self._extent, self._is_mapped = -1, False
        self._notify_whole()

    def place_in_array(self, array: SNode, parent: SNode, packing: Any, shape: tuple[int, ...], bits: int) -> None:
        """Become the elements of a quantised array. packing: (lanes, outer axes); bits: of a word.

        Raises: TaichiRuntimeError if the elements need more bits, and if the field was placed already.
        """
        self.check_placeable()
        lanes, outer_axes = packing
        size, count = self.quant.bits + self.quant.exponent_bits, prod(extent for _, extent in lanes)
        if size * count > bits:
            raise TaichiRuntimeError(
                f"quant_array overflows: {count} elements of {self.quant} need {size * count} bits, and it has {bits}",
                "make it shorter, and the node above longer",
            )
        word = u32 if bits <= 32 else u64
        words = _words(word)
        parent.place(words)
        self.become_packed(words, Packing(self.quant, word, 0, lanes, outer_axes), shape, words.node)

    def place_at(self, node: SNode, offset: tuple[int, ...]) -> None:
        """Raise: numbers of some bits need others with which they fill a word. Raises: TaichiRuntimeError."""
        raise TaichiRuntimeError(f"a field of {self.quant} is placed in `ti.BitpackedFields`", PLACE_IT)

    def describe_array(self) -> ArrayDescription:
        """Return the description of this field for the compiler."""
        place = None if self.packing.lanes else self.words.describe_array().place
        return ArrayDescription(
            self.element, self.shape, self.KIND, self.name or None, None, (), place, None, self.offset,
            packing=self.packing, words=self.words,
        )  # fmt: skip

    def describe_node(self) -> Node | None:
        """Return the node of the words; None before the field is placed."""
        return self.words.describe_node() if self.is_placed else None

    @hides_own_frames
    def __getitem__(self, key: Any) -> Any:
        word, shift, _ = self._word_at(self.index_of(key))
        return decode(word, self.packing, shift).astype(self.dtype.numpy).item()

    @hides_own_frames
    def __setitem__(self, key: Any, value: Any) -> None:
        self.write_item(self.index_of(key, False), self.pack(value))

    def read_item(self, index: tuple[int, ...]) -> Any:
        """Return the element at an index that `index_of` returned."""
        word, shift, _ = self._word_at(index)
        return decode(word, self.packing, shift).astype(self.dtype.numpy)

    def write_item(self, index: tuple[int, ...], packed: Any) -> None:
        """Set the element at an index that `index_of` returned."""
        word, shift, at = self._word_at(index)
        self.words[at] = encode(word, np.asarray(packed), self.packing, shift).item()

    def _word_at(self, index: tuple[int, ...]) -> tuple[Any, Any, tuple[int, ...]]:
        """Return the word of an element, the shift in it, and the index of the word."""
        packing, at = self.packing, index
        shift: Any = packing.shift
        if packing.lanes:
            start = self.offset or (0,) * len(index)
            outer, lane = place_of(packing, [i - s for i, s in zip(index, start, strict=True)], self.shape)
            at, shift = tuple(outer), lane * packing.bits
        return np.array(self.words[at], packing.word.numpy), shift, at


class QuantizedMatrixField(MatrixField):
    """A field of vectors or matrices of quantised numbers, each component a `QuantizedField`."""

    __slots__ = ("quant",)
    quant: QuantType

    def part(self, step: Step) -> Any:
        """Return a component of all elements as a field."""
        parts = self.parts
        found = None if parts is None else parts.get(step)
        if found is not None:
            return found
        found = super().part(step)
        made = quantized(self.quant, self.quant.compute, found.name)
        assert parts is not None
        parts[step], made.whole = made, ref(self)
        return made

    def place_at(self, node: SNode, offset: tuple[int, ...]) -> None:
        """Raise, as for numbers. Raises: TaichiRuntimeError."""
        raise TaichiRuntimeError(f"a field of {self.quant} is placed in `ti.BitpackedFields`", PLACE_IT)


def quantized(type: QuantType, element: Type, name: str) -> Any:
    """Return a field of quantised numbers, or of vectors or matrices of them, that is not placed."""
    result = unplaced(element, name, QuantizedField if isinstance(element, Scalar) else QuantizedMatrixField)
    result.quant = type
    return result


def quantized_field(type: QuantType | QuantTensor, shape: Any, name: str, others: dict[str, Any]) -> Any:
    """Make a field for `ti.field` and its relatives. Raises: TaichiSyntaxError for a shape and other options."""
    current("field")
    given = {"shape": shape, **others}
    refused = [option for option, value in given.items() if value is not None and value is not False]
    if refused:
        raise TaichiSyntaxError(f"a field of {type} takes no `{refused[0]}`: it shares words with others", PLACE_IT)
    if isinstance(type, QuantTensor):
        return quantized(type.type, Tensor(type.shape, type.type.compute), name)
    return quantized(type, type.compute, name)


class BitpackedFields:
    """Fields of quantised numbers that share words.

    max_num_bits: 32 or 64, the size of a word; all fields together have at most as many bits.

    Raises: ValueError for another size.

    Example:
        >>> x = ti.field(ti.types.quant.int(bits=5))
        >>> packed = ti.BitpackedFields(max_num_bits=32)
        >>> packed.place(x)
        >>> _ = ti.root.dense(ti.i, 4).place(packed)
        >>> x[2] = 13
        >>> x[2]
        13
    """

    @hides_own_frames_of(ValueError)
    def __init__(self, max_num_bits: int) -> None:
        if max_num_bits not in (32, 64):
            raise ValueError(f"max_num_bits is 32 or 64, and {max_num_bits!r} was given")
        self.max_num_bits = max_num_bits
        self.fields: list[QuantizedField] = []
        self._packings: list[Packing] = []
        self._end = 0

    @hides_own_frames_of(TypeError)
    def place(self, *args: Any, shared_exponent: bool = False) -> None:
        """Add fields, the first at the lowest bits. shared_exponent: these floats have one exponent.

        Raises: TaichiTypeError for fields of other types; TaichiRuntimeError for a field that was placed already, and
        if the word has not enough bits; TaichiSyntaxError for a shared exponent of one field.
        """
        added = [part for field in args for part in self._numbers_of(field)]
        for field in added:
            field.check_placeable()
        if shared_exponent:
            self._add_shared(added)
        else:
            for field in added:
                type = field.quant
                self._add(field, Packing(type, self._word, self._end), type.bits + type.exponent_bits)

    def _add_shared(self, added: list[QuantizedField]) -> None:
        if len(added) <= 1:
            raise TaichiSyntaxError("At least 2 fields need to be placed when shared_exponent=True")
        first = added[0].quant
        for field in added:
            if field.quant.kind != "float" or field.quant.exponent_bits != first.exponent_bits:
                message = f"a shared exponent is one of floats with {first.exponent_bits} bits for it"
                raise TaichiTypeError(f"{message}, found {field.quant}", "give all fields the same type")
        exponent, self._end = self._end, self._end + first.exponent_bits
        shift, members = self._end, []
        for field in added:
            members.append((shift, field.quant))
            shift += field.quant.bits
        for field, (at, type) in zip(added, members, strict=True):
            self._add(field, Packing(type, self._word, at, shared=tuple(members), exponent=exponent), type.bits)

    def _add(self, field: QuantizedField, packing: Packing, bits: int) -> None:
        if self._end + bits > self.max_num_bits:
            raise TaichiRuntimeError(
                f"BitpackedFields overflows: {field.quant} needs {bits} bits, and "
                f"{self.max_num_bits - self._end} of {self.max_num_bits} are left",
                "use max_num_bits=64, or several BitpackedFields",
            )
        self._end += bits
        self.fields.append(field)
        self._packings.append(packing)

    @property
    def _word(self) -> Scalar:
        return u32 if self.max_num_bits == 32 else u64

    def _numbers_of(self, field: Any) -> list[QuantizedField]:
        if isinstance(field, QuantizedField):
            return [field]
        if isinstance(field, QuantizedMatrixField):
            return [field.part(step) for step in steps_of(field.element)]
        raise TaichiTypeError(
            f"BitpackedFields takes fields of `ti.types.quant` types, found {field!r}",
            "`x = ti.field(ti.types.quant.int(bits=5))`",
        )

    def place_in(self, node: SNode, offset: Any) -> None:
        """Place the words in the cells of a node, and with them the fields."""
        if not self.fields:
            raise TaichiRuntimeError("BitpackedFields without fields cannot be placed", "`b.place(x)` first")
        for field in self.fields:
            field.check_placeable()
        words = _words(self._word)
        node.place(words, offset=offset)
        for field, packing in zip(self.fields, self._packings, strict=True):
            field.become_packed(words, packing, words.shape, words.node)


def _words(word: Scalar) -> WordField:
    words: WordField = unplaced(word, "", WordField)
    words.members = []
    return words


MAKERS.update(dict.fromkeys((QuantType, QuantTensor), quantized_field))
