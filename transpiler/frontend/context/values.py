"""The values of the frontend, and how Python objects are classified.

A value is a Python object known at compile time, an IR statement (known at run time), or an `Lvalue`.
"""

from __future__ import annotations

import types
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from ...ir.nodes import Statement
from ...ir.statements import Array
from ...ir.textures import Texture
from ...ir.types import Type, describe_type
from ...lang.describe import Step, is_described, name_step, step_into
from ...lang.matrix import Matrix
from ...lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lvalue:
    """The target of an assignment: a pointer statement. Reading it gives a load."""

    pointer: Statement

    @property
    def type(self) -> Type:
        """Type of its value."""
        assert self.pointer.type is not None
        return self.pointer.type


@dataclass(frozen=True, slots=True)
class Swizzle:
    """Some elements of a tensor variable that are assigned to: `v.xz`, `m[0, :]`.

    Attributes:
        lvalue: the tensor.
        elements: the indices of each element, ints or statements, row by row.
        shape: of the vector or matrix that they form.
    """

    lvalue: Lvalue
    elements: tuple[tuple[Any, ...], ...]
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ArrayMember:
    """A part of every element of an array: `particles.pos`, `velocity.get_scalar_field(0)`. path: steps to it."""

    array: Array
    path: tuple[Step, ...]

    @property
    def type(self) -> Type:
        """Type of the part."""
        return reduce(step_into, self.path, self.array.element)

    @property
    def name(self) -> str:
        """Its name in errors."""
        name, type = self.array.path or self.array.name, self.array.element
        for step in self.path:
            name, type = name_step(name, type, step), step_into(type, step)
        return name


@dataclass(frozen=True, slots=True)
class RangeValue:
    """`range(...)` with a bound known only at run time: bounds are ints or statements."""

    begin: Any
    end: Any
    step: Any


@dataclass(frozen=True, slots=True)
class NdrangeValue:
    """`ti.ndrange(...)`: (begin, end) of each axis, ints or statements."""

    bounds: tuple[tuple[Any, Any], ...]


@dataclass(frozen=True, slots=True)
class GroupedValue:
    """`ti.grouped(...)` of an array or an ndrange."""

    inner: Any


@dataclass(frozen=True, slots=True)
class MeshElement:
    """An element of a mesh. elements: the set to which it belongs. index: its number in it, an i32."""

    elements: Any
    index: Statement


@dataclass(frozen=True, slots=True)
class MeshRelation:
    """The elements to which an element leads: `v.faces`. name: of their set."""

    element: MeshElement
    name: str


@dataclass(frozen=True, slots=True)
class Method:
    """A method of a tensor, of an array, or of a list, read but not yet called."""

    owner: Any
    name: str


@dataclass(frozen=True, slots=True)
class Formatted:
    """A string with run-time values. parts: strings, and (value, format specification) pairs."""

    parts: tuple[str | tuple[Any, str], ...]


class Pack:
    """A parameter that represents several: its members, which may be packs, are attributes."""

    def __init__(self, name: str) -> None:
        self.__dict__["_name"] = name

    def set(self, path: tuple[str, ...], value: Any) -> None:
        """Set a member, given by the names that lead to it."""
        members = self.__dict__
        for name in path[:-1]:
            members = members.setdefault(name, Pack(f"{members['_name']}.{name}")).__dict__
        members[path[-1]] = value

    def __dir__(self) -> list[str]:
        return [name for name in self.__dict__ if name != "_name"]

    def __getitem__(self, index: Any) -> NoReturn:
        raise TypeError(f"`{self.__dict__['_name']}` has no elements to read or assign; it has {', '.join(dir(self))}")


def is_runtime(value: Any) -> bool:
    """Return whether `value` is known only at run time."""
    return isinstance(value, (Statement, Lvalue))


def holds_runtime(value: Any) -> bool:
    """Return whether `value`, or an item of a list or tuple, is known only at run time."""
    if isinstance(value, (int, float, str)):
        return False
    if isinstance(value, (Statement, Lvalue, Array, ArrayMember, Texture, Pack)):
        return True
    if isinstance(value, (RangeValue, NdrangeValue, GroupedValue, MeshElement, MeshRelation)):
        return True
    if isinstance(value, (list, tuple)):
        return any(holds_runtime(item) for item in value)
    if isinstance(value, dict):
        return any(holds_runtime(item) for item in value.values())
    return is_described(value)


def is_number(value: Any) -> bool:
    """Return whether `value` is a number known at compile time."""
    return isinstance(value, (int, float, np.number, np.bool_))


def matrix_rows(value: Matrix) -> Any:
    """Return a Python-scope matrix as (nested) lists of Python numbers."""
    return value.entries.tolist()


def describe_kind(value: Any) -> str:
    """Return the description of a value in errors: a type for numbers and tensors."""
    if isinstance(value, (Statement, Lvalue)):
        return f"`{describe_type(value.type)}`"
    if isinstance(value, Texture):
        return f"the texture `{value.name}`"
    if isinstance(value, (Array, ArrayMember)):
        return f"the array `{value.name}`"
    if is_described(value):
        return f"an array of type `{type(value).__name__}`"
    if isinstance(value, Pack):
        return f"the argument pack `{value.__dict__['_name']}`"
    if isinstance(value, types.ModuleType):
        return f"the module `{value.__name__}`"
    if isinstance(value, MeshElement):
        return "an element of a mesh"
    if isinstance(value, MeshRelation):
        return f"a list of {value.name} of a mesh"
    if value is None:
        return "`None`"
    if isinstance(value, str):
        return f"the string {value!r}"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, type)):
        return f"`{value.__name__}`"
    return f"a Python `{type(value).__name__}`"
