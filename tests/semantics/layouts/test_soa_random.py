"""Random fields whose parts lie apart or not, placed in random nodes: kernels and Python scope agree with NumPy."""

from __future__ import annotations

import random

import numpy as np
import pytest

import shadesmith as ti

SCALARS = (ti.i32, ti.f32, ti.u8, ti.i16)
COUNT = 24


def random_type(choose: random.Random, depth: int = 0) -> ti.types.struct:
    """Return a struct of numbers, vectors, matrices and structs."""
    members = {}
    for k in range(choose.randint(1, 4)):
        scalar = choose.choice(SCALARS)
        kinds = [
            scalar,
            ti.types.vector(choose.randint(2, 5), scalar),
            ti.types.matrix(2, choose.randint(2, 3), scalar),
        ]
        members[f"m{k}"] = (
            random_type(choose, depth + 1) if depth < 2 and choose.random() < 0.25 else choose.choice(kinds)
        )
    return ti.types.struct(**members)


def random_node(choose: random.Random, shape: tuple[int, ...]):
    """Return a new node of cells of `shape`: one level, or one axis below the other."""
    if choose.random() < 0.5:
        return ti.root.dense(ti.axes(*range(len(shape))), shape)
    axes = choose.sample(range(len(shape)), len(shape))
    node = ti.root
    for axis in axes:
        node = node.dense(ti.axes(axis), shape[axis])
    return node


def place(choose: random.Random, field, shape: tuple[int, ...], shared: list) -> None:
    """Place a field whole, or its parts each for itself, in nodes of its own or one shared with others."""
    if isinstance(field, ti.ScalarField) or choose.random() < 0.4:
        if not shared or choose.random() < 0.5:
            shared.append(random_node(choose, shape))
        choose.choice(shared).place(field)
    elif isinstance(field, ti.StructField):
        for name in field.keys:
            place(choose, field.get_member_field(name), shape, shared)
    else:
        for k in range(field.n):
            for j in range(field.m):
                place(choose, field.get_scalar_field(k, j), shape, shared)


def random_field(choose: random.Random):
    """Return a field with a shape."""
    kind = random_type(choose)
    shape = tuple(choose.choice((1, 3, 4, 7)) for _ in range(choose.randint(1, 3)))
    if choose.random() < 0.4:
        order = "".join(choose.sample("ijk"[: len(shape)], len(shape)))
        return kind.field(shape=shape, layout=choose.choice(list(ti.Layout)), order=order)
    field = kind.field()
    place(choose, field, shape, [])
    return field


def leaves(values) -> list[np.ndarray]:
    """Return the arrays of nested dicts in order."""
    if isinstance(values, dict):
        return [leaf for value in values.values() for leaf in leaves(value)]
    return [values]


def numbered(values, start: int = 0):
    """Return nested dicts of the same arrays with small numbers that differ, and how many leaves there are."""
    if isinstance(values, dict):
        made = {}
        for name, value in values.items():
            made[name], start = numbered(value, start)
        return made, start
    return ((np.arange(values.size) * 7 + start * 3) % 50).reshape(values.shape).astype(values.dtype), start + 1


def scalars_of(field) -> list:
    """Return the components and members of a field, down to numbers."""
    if isinstance(field, ti.ScalarField):
        return [field]
    if isinstance(field, ti.StructField):
        return [scalar for name in field.keys for scalar in scalars_of(field.get_member_field(name))]
    return [field.get_scalar_field(k, j) for k in range(field.n) for j in range(field.m)]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(COUNT))
def test_kernels_and_python_agree_with_numpy(target: str, seed: int) -> None:
    choose = random.Random(seed)
    field, copy = random_field(choose), None
    copy = field.type.field(shape=field.shape, layout=choose.choice(list(ti.Layout)))
    scalars = scalars_of(field)
    one = choose.choice(scalars)

    @ti.kernel
    def run(last: ti.template()):
        for I in ti.grouped(field):
            copy[I] = field[I]
        for I in ti.grouped(last):
            for scalar in ti.static(scalars):
                scalar[I] += 2

    values, _ = numbered(field.to_numpy())
    field.from_numpy(values)
    run(one)
    for before, after, copied in zip(leaves(values), leaves(field.to_numpy()), leaves(copy.to_numpy()), strict=True):
        np.testing.assert_array_equal(copied, before)
        np.testing.assert_array_equal(after, before + 2)
    index = tuple(choose.randrange(extent) for extent in field.shape)
    field[index] = copy[index]
    one[index] = 9
    expected = one.to_numpy()
    assert one[index] == 9 and expected[index] == 9
    field.copy_from(copy)
    for before, after in zip(leaves(values), leaves(field.to_numpy()), strict=True):
        np.testing.assert_array_equal(after, before)
