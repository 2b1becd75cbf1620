"""What a generated program may contain, for the targets that it is meant to run on."""

from __future__ import annotations

import random
from dataclasses import dataclass


@dataclass(frozen=True)
class Dialect:
    """A part of the language.

    returns_anywhere: `return` under conditions. steps: `range` with a step. short_circuits: effects in `and`, `or` and
    the ternary happen only if they are needed. divides_by_zero: `x // 0` is 0. narrow_division: `//` of 8 bits is right.
    narrow_products: `@` of 8 and 16 bits has the type of its operands. narrow_atomics: of 8 and 16 bits.
    references: `ti.ref`. lists: dynamic nodes.
    casting_stores: a wider value is cast by an atomic operation and by a struct too. breaks_serial: `break` in an outermost loop that is serial.
    clamps: `boundary="clamp"`. slices: rows and columns of matrices, comparisons of vectors.
    zeroth_powers: `x ** 0` with a literal 0 also of unsigned integers. quantised_logic: `|=`, `^=` of elements of a few bits.
    tensor_powers: `v ** n` has the type of v also where n has another. sparse_components: stores to a component, at an index known at run time only, of a vector in a sparse node.
    least_absolute: `abs` of the least integer is that integer.
    """

    name: str
    returns_anywhere: bool = True
    steps: bool = True
    short_circuits: bool = True
    divides_by_zero: bool = True
    narrow_division: bool = True
    narrow_products: bool = True
    narrow_atomics: bool = False
    breaks_serial: bool = True
    membership: bool = True
    half: bool = True
    references: bool = True
    lists: bool = True
    casting_stores: bool = True
    clamps: bool = True
    slices: bool = True
    zeroth_powers: bool = True
    tensor_powers: bool = True
    quantised_logic: bool = True
    sparse_components: bool = True
    least_absolute: bool = True


PORTABLE = Dialect("portable")
"""All targets of ours."""
HOST = Dialect("host", narrow_atomics=True)
"""C, CUDA and the interpreter."""
TAICHI = Dialect(
    "taichi",
    returns_anywhere=False,
    steps=False,
    short_circuits=False,
    divides_by_zero=False,
    narrow_division=False,
    narrow_products=False,
    narrow_atomics=False,
    breaks_serial=False,
    membership=False,
    half=False,
    references=False,
    lists=False,
    casting_stores=False,
    clamps=False,
    slices=False,
    zeroth_powers=False,
    tensor_powers=False,
    quantised_logic=False,
    sparse_components=False,
    least_absolute=False,
)
"""What Taichi 1.7.4 computes as we do: docs/numerics.md lists the rest."""

DIALECTS = {dialect.name: dialect for dialect in (PORTABLE, HOST, TAICHI)}


@dataclass
class Policy:
    """What one program prefers; drawn from its seed.

    integers, reals: types of its variables and arrays. depth: of expressions. length: statements of a block.
    """

    integers: tuple[str, ...]
    reals: tuple[str, ...]
    depth: int
    length: int
    reals_share: float
    loops: float
    branches: float
    tensors: float
    sparse: float
    structs: float
    odd: float
    """The share of forms of `odd_forms.py`."""


def draw_policy(chance: random.Random, dialect: Dialect) -> Policy:
    """Return what a program prefers."""
    integers = ["i32"]
    if chance.random() < 0.75:
        names = ("i8", "u8", "i16", "u16", "u32", "i64", "u64")
        integers += chance.sample(names, chance.randint(1, 3))
    reals = (
        ["f16", "f32"]
        if dialect.half and chance.random() < 0.15
        else list(chance.choice((("f32",), ("f32",), ("f64", "f32"), ("f64",))))
    )
    return Policy(
        tuple(integers),
        tuple(reals),
        chance.choice((1, 2, 2, 3)),
        chance.choice((2, 3, 4, 6)),
        chance.choice((0.0, 0.2, 0.3, 0.6)),
        chance.choice((0.1, 0.2, 0.35)),
        chance.choice((0.1, 0.2, 0.35)),
        chance.choice((0.0, 0.0, 0.15, 0.4)),
        chance.choice((0.0, 0.0, 0.5)),
        chance.choice((0.0, 0.0, 0.4)),
        chance.choice((0.0, 0.1, 0.3)),
    )
