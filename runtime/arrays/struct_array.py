"""Arrays of structs: indexing from Python gives structs that read and write the array; members are arrays too.

In: a struct type and a shape. Out: `StructArray`, the base of `StructField` and `StructNdarray`.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Any

import numpy as np

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.types import Scalar, Struct, Tensor, Type
from ...transpiler.lang.annotations import type_of
from ...transpiler.lang.matrix import wrap
from ...transpiler.lang.struct import Struct as Value
from ...transpiler.lang.struct import StructType, make_struct
from ..session.tracebacks import hides_own_frames_of
from .dense_array import DenseArray, SliceRequested
from .dense_array import Entries as Components
from .memory import Array
from .split_memory import SplitMemory
from .stored_numbers import check_fill, to_components


class StructArray(DenseArray):
    """An array of structs. element: the struct type; members are arrays that share its memory.

    `x.pos` is a member, also if an attribute has that name (`member_names.py`).
    """

    element: Struct
    __slots__ = ()

    @property
    def type(self) -> StructType:
        """The type as the author wrote it."""
        found = self.element.origin
        assert isinstance(found, StructType)
        return found

    def __getattr__(self, name: str) -> Any:
        """Return a member of all elements as an array of its own."""
        if name[:2] != "__" and name in self.element.names:
            return self.get_member_field(name)
        raise AttributeError(f"{self!r} has no member `{name}`; it has {', '.join(self.element.names)}")

    @property
    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self.element.names)

    def get_member_field(self, key: str) -> Any:
        """Return a member of all elements as an array that shares this one's memory. Raises: KeyError."""
        return self._member_array(key, self.element.member(key))

    @abstractmethod
    def _member_array(self, name: str, element: Type) -> Any:
        """Return the member `name`, of type `element`, as an array."""

    @property
    def element_shape(self) -> tuple[int, ...]:
        """(): a struct has no axes."""
        return ()

    # --- whole-array operations

    def to_numpy(self) -> dict[str, Any]:  # type: ignore[override]
        """Return a copy of each member by name; a dict for members that are structs."""
        if isinstance(self.memory, SplitMemory):
            return {name: self.get_member_field(name).to_numpy() for name in self.keys}
        return _as_dict(self.memory.read_all(), self.element, lambda part: part.copy())

    def from_numpy(self, array_dict: Mapping[str, Any]) -> None:  # type: ignore[override]
        """Set every member from an array of its own, as returned by `to_numpy`, or all from a structured array.

        Raises: KeyError if a member is missing; ValueError if a shape differs.
        """
        if isinstance(self.memory, SplitMemory):
            given = {name: array_dict[name] for name in self.keys}
            for name, array in given.items():
                member = self.get_member_field(name)
                member.from_numpy(array if isinstance(member, StructArray) else np.asarray(array))
            return
        values = self.memory.read_all()
        _set_members(self, values, self.element, array_dict)
        self.memory.write_all(values)

    def to_torch(self, device: Any = None) -> dict[str, Any]:
        """Return a copy of each member as a torch tensor; a dict for members that are structs."""
        import torch  # type: ignore[import-not-found, unused-ignore]

        def converted(values: Array) -> Any:
            tensor = torch.from_numpy(values)
            return tensor if device is None else tensor.to(device)

        return _converted(self.to_numpy(), converted)

    def from_torch(self, array_dict: Mapping[str, Any]) -> None:
        """Set every member from a torch tensor, as returned by `to_torch`."""
        self.from_numpy(_converted(array_dict, lambda tensor: tensor.detach().cpu().contiguous().numpy()))

    def to_paddle(self, place: Any = None) -> dict[str, Any]:
        """Return a copy of each member as a paddle tensor; a dict for members that are structs."""
        import paddle  # type: ignore[import-not-found, unused-ignore]

        return _converted(self.to_numpy(), lambda values: paddle.to_tensor(values, place=place))

    def from_paddle(self, array_dict: Mapping[str, Any]) -> None:
        """Set every member from a paddle tensor, as `to_paddle` gives them."""
        self.from_numpy(_converted(array_dict, lambda tensor: tensor.detach().numpy()))

    def copy_from(self, other: Any) -> None:
        """Copy another array of structs with the same members and shape. Raises: TypeError, ValueError."""
        if isinstance(other, StructArray) and other.element.names != self.element.names:
            raise ValueError(f"cannot copy {other!r} into {self!r}: they have different members")
        super().copy_from(other)

    @hides_own_frames_of(TypeError, ValueError)
    def fill(self, val: Any) -> None:
        """Set every number of every element to `val`, or every element to a struct or dict."""
        check_fill(self.element, val, self)
        whole = isinstance(val, (Value, dict))
        self.memory.fill(self.pack(val if whole else self.type.filled_with_scalar(val)))

    # --- elements

    def __getitem__(self, key: Any) -> Any:
        try:
            return make_struct(Entries(self, self.index_of(key)), self.type)
        except SliceRequested:
            return self.sliced(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        self.write_item(self.index_of(key, False), self.pack(value))

    def pack(self, value: Any) -> Array:
        """Return a struct or dict as a structured array without axes. Raises: KeyError, TypeError, TaichiTypeError."""
        packed = np.zeros((), self.element.numpy)
        _pack(packed, self.element, self.type.cast(value), self)
        return packed

    def __repr__(self) -> str:
        name = f" `{self.name}`" if self.name else ""
        return f"<ti.Struct.{self.KIND}{name} of {{{', '.join(self.keys)}}}, shape {self.shape}>"


class Entries(MutableMapping[str, Any]):
    """The members of one element of an array, or of a struct in it, read and written in place.

    struct: the type of the element or struct. path: names of members from the array's element to the struct.
    """

    __slots__ = ("array", "index", "path", "struct")

    def __init__(
        self, array: StructArray, index: tuple[int, ...], struct: Struct | None = None, path: tuple[str, ...] = ()
    ) -> None:
        self.array, self.index, self.struct, self.path = array, index, struct or array.element, path

    def __getitem__(self, name: str) -> Any:
        memory: Any = self.array.memory
        if type(memory) is SplitMemory:
            return memory.parts[name][self.index]
        type_ = self.struct.types[name]
        if isinstance(type_, Struct):
            assert isinstance(type_.origin, StructType)
            return make_struct(Entries(self.array, self.index, type_, (*self.path, name)), type_.origin)
        value = self._struct_view()[name]
        if isinstance(type_, Scalar):
            return value.item()
        return wrap(Components.of(value, (self, name)))

    def __setitem__(self, name: str, value: Any) -> None:
        memory: Any = self.array.memory
        type_ = self.struct.types[name]
        is_plain = value.__class__ is float and type_.__class__ is Scalar and type_.is_float
        if is_plain and type(memory) is not SplitMemory and memory.locate_to_store is None:
            self._struct_view()[name] = value
            if memory.mirrored:
                memory.mark(self.array.position_of(self.index))
            return
        member = self.array
        for step in (*self.path, name):
            member = member.get_member_field(step)
        member[self.index] = value

    def __contains__(self, name: object) -> bool:
        return name in self.struct.types

    def __delitem__(self, name: str) -> None:
        raise TypeError("members of structs cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self.struct.types)

    def __len__(self) -> int:
        return len(self.struct.members)

    def _struct_view(self) -> Any:
        """Return the struct in the view of the array's memory."""
        position = self.array.position_of(self.index)
        view = self.array.ready(position)[position]
        for name in self.path:
            view = view[name]
        return view


def _pack(packed: Array, struct: Struct, value: Value, owner: StructArray) -> None:
    for name, type in struct.members:
        member = value[name]
        if isinstance(type, Struct):
            _pack(packed[name], type, member, owner)
        elif isinstance(type, Tensor):
            packed[name] = to_components(type.element, member, owner).reshape(type.shape)
        else:
            packed[name] = type(member) if type.is_integral else member


def _converted(values: Mapping[str, Any], convert: Callable[[Any], Any]) -> dict[str, Any]:
    """Return a dict of all members, including those of nested structs, each converted."""
    return {
        name: _converted(value, convert) if isinstance(value, Mapping) else convert(value)
        for name, value in values.items()
    }


def _as_dict(values: Array, struct: Struct, copied: Any) -> dict[str, Any]:
    return {
        name: _as_dict(values[name], type, copied) if isinstance(type, Struct) else copied(values[name])
        for name, type in struct.members
    }


def _set_members(owner: StructArray, values: Array, struct: Struct, given: Any) -> None:
    for name, type in struct.members:
        if isinstance(type, Struct):
            _set_members(owner, values[name], type, given[name])
            continue
        found = np.asarray(given[name])
        if found.shape != values[name].shape:
            raise ValueError(
                f"{owner!r}: member `{name}` has shape {values[name].shape}, the numpy array shape {found.shape}"
            )
        values[name] = found


def stored_type(dtype: Any) -> Type:
    """Return the type of an array's elements. Raises: TaichiRuntimeError for a struct without members."""
    element = type_of(dtype)
    if isinstance(element, Struct) and not element.size_bytes:
        raise TaichiRuntimeError("a struct without members cannot be the element of an array", "give it a member")
    return element
