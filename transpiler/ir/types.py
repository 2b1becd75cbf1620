"""Types of values in a kernel: scalars, tensors (vectors and matrices) of scalars, structs; the rules of promotion.

Also the types of quantised numbers, which only fields have, and where these are in words.

In memory every type is aligned to its widest scalar, and the size of a struct is a multiple of that. This is the layout
of C and CUDA, and GLSL's scalar block layout except for the padding at the end (`backend/layout/structs.py` adds it).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np

from ..lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number type. kind: "int", "uint", "float" or "bool"; in memory it takes `size_bytes` (a byte for u1).

    There is one object for each, compared by identity: passes compare and look up types all the time.
    """

    name: str
    kind: str
    bits: int

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def size_bytes(self) -> int:
        """Bytes in memory."""
        return self.bits // 8 or 1

    @property
    def is_float(self) -> bool:
        """Whether it is a floating-point type."""
        return self.kind == "float"

    @property
    def is_integral(self) -> bool:
        """Whether it is an integer or u1."""
        return self.kind != "float"

    @property
    def is_signed(self) -> bool:
        """Whether it holds negative numbers."""
        return self.kind in ("int", "float")

    @property
    def is_narrow_int(self) -> bool:
        """Whether it is a signed integer of 8 or 16 bits, which compilers of GLSL negate in other words, unwrapped."""
        return self.kind == "int" and self.bits < 32

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the greatest number of an integer type, or of u1."""
        half = 1 << (self.bits - 1)
        return (-half, half - 1) if self.kind == "int" else (0, (1 << self.bits) - 1)

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of equal layout."""
        return NUMPY[self.name]

    def __str__(self) -> str:
        return self.name

    def to_string(self) -> str:
        """Return the name, as Taichi's `DataType` does."""
        return self.name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return _scalar, (self.name,)

    def __call__(self, value: Any) -> Any:
        """Cast a Python number as the type would (Python scope); inside kernels it is `ti.cast`."""
        if self.kind == "float":
            return float(self.numpy.type(value))
        if self.kind == "bool":
            return bool(value)
        wrapped = int(value) & ((1 << self.bits) - 1)
        return wrapped - (1 << self.bits) if self.kind == "int" and wrapped >> (self.bits - 1) else wrapped


@dataclass(frozen=True, slots=True)
class Tensor:
    """A vector, shape (n,), or a matrix, shape (n, m), of scalars, stored row by row."""

    shape: tuple[int, ...]
    element: Scalar

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory, without padding."""
        return self.size * self.element.size_bytes

    def __str__(self) -> str:
        return f"{self.element}[{'x'.join(map(str, self.shape))}]"


@dataclass(frozen=True, slots=True)
class Struct:
    """A record of named members, which may be structs themselves.

    Attributes:
        name: of the type in the emitted source.
        members: (name, type) pairs in order.
        origin: the object of the language that declared the type (`lang.struct.StructType`), if any; it distinguishes
            types
            with equal names and members until the frontend has given them unique names.
        types: of the members, by name.
    """

    name: str
    members: tuple[tuple[str, Type], ...]
    origin: Any = field(default=None, compare=False, repr=False)
    types: Mapping[str, Type] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "types", dict(self.members))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the members in order."""
        return tuple(self.types)

    @property
    def size_bytes(self) -> int:
        """Bytes in memory, including the padding before the next element."""
        return struct_layout(self)[1]

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type of equal layout."""
        return _numpy_struct(self)

    @property
    def definition(self) -> str:
        """Return the whole type as a string: `Particle{pos: f32[3], mass: f32}`."""
        return f"{self.name}{{{', '.join(f'{name}: {described(type)}' for name, type in self.members)}}}"

    def __hash__(self) -> int:
        return hash((self.name, len(self.members)))

    def member(self, name: str) -> Type:
        """Return the type of a member. Raises: KeyError if it is missing."""
        return self.types[name]

    def __str__(self) -> str:
        return self.name


Type = Scalar | Tensor | Struct


class StructError(TypeError):
    """A struct was found where a number, vector or matrix was expected; args: the type."""


i8, i16, i32, i64 = (Scalar(f"i{bits}", "int", bits) for bits in (8, 16, 32, 64))
u8, u16, u32, u64 = (Scalar(f"u{bits}", "uint", bits) for bits in (8, 16, 32, 64))
f16, f32, f64 = (Scalar(f"f{bits}", "float", bits) for bits in (16, 32, 64))
u1 = Scalar("u1", "bool", 1)


def _scalar(name: str) -> Scalar:
    """Return a scalar type by its name, as copies and pickles of it do."""
    return SCALARS[name]


SCALARS: dict[str, Scalar] = {t.name: t for t in (i8, i16, i32, i64, u1, u8, u16, u32, u64, f16, f32, f64)}
NUMPY: dict[str, np.dtype[Any]] = {
    t.name: np.dtype(
        {"int": "i", "uint": "u", "float": "f", "bool": "?"}[t.kind] + ("" if t.bits == 1 else str(t.bits // 8))
    )
    for t in SCALARS.values()
}
SCALAR_OF_NUMPY: dict[np.dtype[Any], Scalar] = {dtype: SCALARS[name] for name, dtype in NUMPY.items()}


def describe_type(type: Type | None) -> str:
    """Return a type in the form that errors show: `f32`, `vector(3, f32)`, `matrix(2, 2, f32)`."""
    if not isinstance(type, Tensor):
        return str(type)
    kind = "vector" if len(type.shape) == 1 else "matrix"
    return f"{kind}({', '.join(map(str, type.shape))}, {type.element})"


def element_of(type: Type) -> Scalar:
    """Return the scalar type of a value: itself, or that of a tensor's elements. Raises: StructError for a struct."""
    if type.__class__ is Scalar:  # most are
        return type
    if isinstance(type, Struct):
        raise StructError(type)
    return type.element if isinstance(type, Tensor) else type


def with_element(type: Type, element: Scalar) -> Type:
    """Return `type`, a scalar or tensor, with its scalar replaced by `element`."""
    return Tensor(type.shape, element) if isinstance(type, Tensor) else element


def parts_of(type: Type) -> Iterator[Scalar | Tensor]:
    """Yield `type` itself, or the types of a struct's members and of the members of those, in order."""
    if isinstance(type, Struct):
        for _, member in type.members:
            yield from parts_of(member)
    else:
        yield type


def scalars_of(type: Type) -> Iterator[Scalar]:
    """Yield the scalar types that `type` is made of, one for each part."""
    return (element_of(part) for part in parts_of(type))


def count_scalars(type: Type) -> int:
    """Return how many numbers a value of `type` holds."""
    return sum(part.size if isinstance(part, Tensor) else 1 for part in parts_of(type))


def described(type: Type) -> str:
    """Return a type as a string that no other type has, structs with their members."""
    return type.definition if isinstance(type, Struct) else str(type)


# --- memory ---------------------------------------------------------------------------------------------------------


def alignment_bytes(type: Type) -> int:
    """Return the alignment of a value in memory [bytes]."""
    if type.__class__ is Scalar:
        return type.size_bytes
    return max((scalar.size_bytes for scalar in scalars_of(type)), default=1)


def aligned(offset: int, alignment: int) -> int:
    """Return the first multiple of `alignment` from `offset` on."""
    return -(-offset // alignment) * alignment


@lru_cache(maxsize=256)
def struct_layout(struct: Struct) -> tuple[tuple[int, ...], int]:
    """Return the offset of each member, and the size [bytes], with the padding at the end."""
    offsets: list[int] = []
    end = 0
    for _, type in struct.members:
        offsets.append(aligned(end, alignment_bytes(type)))
        end = offsets[-1] + type.size_bytes
    return tuple(offsets), aligned(end, alignment_bytes(struct))


def member_offset(struct: Struct, name: str) -> int:
    """Return the offset of a member in its struct [bytes]."""
    return struct_layout(struct)[0][struct.names.index(name)]


@lru_cache(maxsize=256)
def _numpy_struct(struct: Struct) -> np.dtype[Any]:
    offsets, size = struct_layout(struct)
    formats = [_numpy_format(type) for _, type in struct.members]
    return np.dtype({"names": list(struct.names), "formats": formats, "offsets": list(offsets), "itemsize": size})


def _numpy_format(type: Type) -> Any:
    return (type.element.numpy, type.shape) if isinstance(type, Tensor) else type.numpy


# --- promotion ------------------------------------------------------------------------------------------------------


def promote(a: Scalar, b: Scalar) -> Scalar:
    """Return the type to which `a` and `b` promote: float over integer, wider over narrower, unsigned over signed.

    u1 counts as an unsigned type of 8 bits, so i8 and u1 promote to u1. Source: measured on Taichi 1.7.4, all pairs
    (tests/data/binary_ops.json).
    """
    if a.is_float != b.is_float:
        return a if a.is_float else b
    if a.size_bytes != b.size_bytes:
        return a if a.size_bytes > b.size_bytes else b
    return a if b.kind == "int" else b


def common_type(types: Sequence[Scalar]) -> Scalar:
    """Return the type to which all of `types` promote, of which there is at least one."""
    return reduce(promote, types)


# --- quantised numbers ----------------------------------------------------------------------------------------------

MAX_EXPONENT_BITS = 8
MAX_FRACTION_BITS = 23
F32_BIAS = 127


@dataclass(frozen=True, slots=True)
class QuantType:
    """A type of quantised numbers: the meaning of bits in a word, an unsigned integer of 32 or 64 bits.

    - int: the lowest bits of the number; those above are lost.
    - fixed: the number divided by the scale, rounded to the nearest integer, half away from zero; bits above are lost.
    - float: sign, exponent and fraction as in IEEE 754, with the bias 2^(bits of the exponent - 1) - 1. The exponent 0
      means zero; the greatest one is a number like the others, except in 8 bits, as f32. Rounded half away from zero.
    - floats with a shared exponent: a sign and the digits, with a leading one or zeros, for each; the exponent is that
      of the largest.

    Source: values as measured on Taichi 1.7.4, arch cpu; the order of the bits is our own.

    Attributes:
        kind: "int", "fixed" or "float".
        bits: of the number; of a float those of sign and fraction.
        compute: the type of a value that a kernel reads.
        scale: of fixed-point numbers, the value of 1.
        exponent_bits: of floats.
    """

    kind: str
    bits: int
    is_signed: bool
    compute: Scalar
    scale: float = 1.0
    exponent_bits: int = 0

    @property
    def digits(self) -> int:
        """Bits without the sign, and of a float without the exponent."""
        return self.bits - int(self.kind == "float" and self.is_signed)

    @property
    def bias_difference(self) -> int:
        """What is added to the exponent of a float to make that of f32."""
        return F32_BIAS - ((1 << (self.exponent_bits - 1)) - 1)

    def __str__(self) -> str:
        if self.kind == "float":
            return f"quant.float(exp={self.exponent_bits}, frac={self.bits}, signed={self.is_signed})"
        scale = f", scale={self.scale:g}" if self.kind == "fixed" else ""
        return f"quant.{self.kind}(bits={self.bits}, signed={self.is_signed}{scale})"

    __repr__ = __str__


@dataclass(frozen=True, slots=True)
class QuantTensor:
    """A type of vectors or matrices of quantised numbers."""

    shape: tuple[int, ...]
    type: QuantType


@dataclass(frozen=True, slots=True)
class Packing:
    """Where the elements of a field are in an array of words.

    Attributes:
        type: of the elements.
        word: u32 or u64.
        shift: number of the lowest bit; of several elements in a word, that of the first.
        lanes: (axis, extent) for each axis along which a word has several elements, the slowest first.
        outer_axes: those of them that the words have too.
        shared: of floats with a shared exponent: the shifts and types of all of them; `exponent` is its shift.
    """

    type: QuantType
    word: Scalar
    shift: int = 0
    lanes: tuple[tuple[int, int], ...] = ()
    outer_axes: frozenset[int] = frozenset()
    shared: tuple[tuple[int, QuantType], ...] = ()
    exponent: int = 0

    @property
    def bits(self) -> int:
        """Bits of one element in a word, without a shared exponent."""
        return self.type.bits if self.shared else self.type.bits + self.type.exponent_bits


def mask_of(bits: int, shift: int = 0) -> int:
    """Return an integer of `bits` ones from bit `shift` on."""
    return ((1 << bits) - 1) << shift
