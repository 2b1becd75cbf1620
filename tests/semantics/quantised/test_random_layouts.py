"""Random layouts of quantised types against a model that stores Python's integers in a dictionary."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import shadesmith as ti

quant = ti.types.quant


def model_of(kind: str, options: dict[str, Any]) -> Any:
    """Return the function from a number to what is read back after it was stored, by its definition."""
    signed = options.get("signed", True)
    if kind == "float":
        return lambda v: _float(v, options["exp"], options["frac"] - signed, signed)
    bits = options["bits"]

    def wrapped(n: int) -> int:
        n %= 2**bits
        return n - 2**bits if signed and n >= 2 ** (bits - 1) else n

    if kind == "int":
        return lambda v: wrapped(int(v))
    scale = options["max_value"] / 2 ** (bits - 1 if signed else bits)

    def rounded(v: float) -> float:
        exact = float(np.float32(v) * np.float32(1 / scale))
        return float(np.float32(wrapped(int(math.copysign(math.floor(abs(exact) + 0.5), exact)))) * np.float32(scale))

    return rounded


def _float(v: float, exponent_bits: int, digits: int, signed: bool) -> float:
    """Round the fraction to `digits` bits, half away from zero; below the least normal number everything is 0."""
    if v == 0:
        return 0.0
    mantissa, exponent = math.frexp(abs(v))
    count = math.floor(Fraction(mantissa) * 2 ** (digits + 1) + Fraction(1, 2))
    value = float(count) * 2.0 ** (exponent - digits - 1)
    least = 2.0 ** (2 - 2 ** (exponent_bits - 1))
    return 0.0 if value < least else math.copysign(value, v) if signed else value


def layout(rng: random.Random) -> list[tuple[str, dict[str, Any]]]:
    """Return kinds and options of fields that fit into 32 or 64 bits."""
    left, members = rng.choice((32, 64)), []
    while left > 2 and len(members) < 6:
        kind, signed = rng.choice(("int", "fixed", "float")), rng.random() < 0.6
        if kind == "float":
            exp, frac = rng.randint(4, 8), rng.randint(2, 14)
            if exp + frac > left:
                break
            members.append((kind, {"exp": exp, "frac": frac, "signed": signed}))
            left -= exp + frac
            continue
        bits = rng.randint(1 + signed, min(left, 31 if kind == "int" else 20))
        members.append((kind, {"bits": bits, "signed": signed}))
        if kind == "fixed":
            members[-1][1]["max_value"] = rng.choice((0.5, 1.0, 4.0, 3.0))
        left -= bits
    return members


def number(rng: random.Random, kind: str, options: dict[str, Any]) -> float:
    """Return a number that the type holds, or nearly: floats within the exponents, fixed-point numbers below the top."""
    if kind == "int":
        return rng.randint(-(2**20), 2**20) if options.get("signed", True) else rng.randint(0, 2**20)
    if kind == "fixed":
        top = options["max_value"] * 0.9
        return float(np.float32(rng.uniform(-top if options["signed"] else 0, top)))
    span = 2 ** (options["exp"] - 1) - 2
    return float(np.float32(rng.uniform(-2, 2) * 2.0 ** rng.randint(-min(span, 20), min(span, 20) - 1)))


def run_layout(seed: int) -> None:
    """Store numbers in all fields of a layout in random order from a kernel and from Python, and read all."""
    rng = random.Random(seed)
    members, n = layout(rng), rng.choice((1, 3, 8))
    fields = [ti.field(getattr(quant, kind)(**options)) for kind, options in members]
    bitpack = ti.BitpackedFields(max_num_bits=64)
    bitpack.place(*fields)
    node = ti.root.dense(ti.i, n)
    plain = ti.field(ti.i32)
    node.place(bitpack, plain) if rng.random() < 0.5 else node.place(bitpack)
    given = [ti.field(ti.i32 if kind == "int" else ti.f32, n) for kind, _ in members]
    numbers = [[number(rng, kind, options) for _ in range(n)] for kind, options in members]
    for field, row in zip(given, numbers, strict=True):
        field.from_numpy(np.array(row))
    order = rng.sample(range(len(fields)), len(fields))

    @ti.kernel
    def store():
        for i in range(n):
            for k in ti.static(order):
                fields[k][i] = given[k][i]

    @ti.kernel
    def read():
        for i in range(n):
            for k in ti.static(range(len(fields))):
                given[k][i] = ti.cast(fields[k][i], given[k].dtype)

    store()
    again = rng.randrange(len(fields)), rng.randrange(n)
    numbers[again[0]][again[1]] = new = number(rng, *members[again[0]])
    fields[again[0]][again[1]] = new
    read()
    for k, (kind, options) in enumerate(members):
        model = model_of(kind, options)
        wanted = [model(value) for value in numbers[k]]
        found = given[k].to_numpy()
        if kind == "int" and not options["signed"]:
            found = found.astype(np.uint32)
        assert np.array_equal(found, np.array(wanted, found.dtype)), (seed, kind, options, numbers[k])
        assert np.array_equal(fields[k].to_numpy(), np.array(wanted, fields[k].to_numpy().dtype)), (seed, kind)


def test_some_layouts(target: str) -> None:
    for seed in range(3):
        run_layout(seed)


@pytest.mark.exhaustive
@pytest.mark.parametrize("first", range(3, 203, 20))
def test_200_layouts(target: str, first: int) -> None:
    for seed in range(first, first + 20):
        run_layout(seed)
