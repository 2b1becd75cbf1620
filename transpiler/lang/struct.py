"""Structs: `ti.types.struct(a=ti.i32, ...)`, `@ti.dataclass`, and `ti.Struct`, a value in Python scope.

Input: member types, or a class with annotations and methods. Output: `StructType`, which creates values, fields and
ndarrays and is the type in kernels, and `Struct`. A value's `entries` are a dict, or for an element of an array a
mapping that reads and writes the array.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, ItemsView, Iterator, Mapping, MutableMapping
from types import MethodType
from typing import Any

import numpy as np

from ..errors import TaichiSyntaxError, TaichiTypeError, as_seen_by_user
from ..ir.types import Scalar, Tensor, Type
from ..ir.types import Struct as StructInKernel
from ..options import CompileOptions
from .annotations import DescribesType, MatrixType, VectorType, as_type, make_value, type_of
from .hooks import Layout, make_field, make_ndarray, scalar_of
from .matrix import Matrix, Vector, array_of, unwrap

METHODS = "__struct_methods"
"""Key of the methods in Taichi's dicts of members and methods."""


class Struct:
    """A record of named values in Python scope: `s.a`, `s["a"]`, `s.v.x = 1`.

    Members are numbers, vectors, matrices and structs; assigning copies. A member hides a method of the same name.
    args: one dictionary. kwargs: members by name.
    Raises: TaichiSyntaxError for other positional arguments than one dictionary.

    Example:
        >>> s = ti.Struct(a=1, v=ti.Vector([1.0, 2.0]))
        >>> s.v.x = 5.0
        >>> s.v
        [5. 2.]
    """

    _entries: MutableMapping[str, Any]
    _methods: dict[str, Callable[..., Any]]
    _type: StructType | None
    __slots__ = ("_entries", "_methods", "_type")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        given: dict[str, Any] = kwargs
        if args:
            if len(args) != 1 or kwargs or not isinstance(args[0], dict):
                raise TaichiSyntaxError(
                    "Custom structs need to be initialized using either dictionary or keyword arguments"
                )
            given = dict(args[0])
        methods = given.pop(METHODS, {})
        _fill(self, {name: _as_entry(value) for name, value in given.items()}, methods, None)

    def __getattribute__(self, name: str) -> Any:
        if name[:1] != "_":
            entries = object.__getattribute__(self, "_entries")
            if name in entries:
                return entries[name]
        return object.__getattribute__(self, name)

    def __getattr__(self, name: str) -> Any:
        """Return a member whose name starts with an underscore, or a method of the struct's type, bound to it."""
        entries = object.__getattribute__(self, "_entries")
        if name in entries:
            return entries[name]
        if name[:1] != "_" and name in self._methods:
            return _bound(self._methods[name], self)
        raise AttributeError(f"the struct has no member `{name}`; it has {', '.join(entries) or 'none'}")

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __getitem__(self, key: str) -> Any:
        return self._entries[key]

    def __setitem__(self, key: str, value: Any) -> None:
        if key not in self._entries:
            raise AttributeError(f"the struct has no member `{key}`; it has {', '.join(self._entries) or 'none'}")
        old = self._entries[key]
        if isinstance(old, Struct):
            assign(old, value)
        elif isinstance(old, Matrix):
            old.entries[...] = array_of(value, old.entries.dtype)
        elif isinstance(value, (Struct, dict, str, list, tuple)):
            raise TypeError("A number is expected when assigning struct members")
        else:
            self._entries[key] = value

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Any]:
        return iter(list(self._entries.values()))

    @property
    def keys(self) -> list[str]:
        """Names of the members."""
        return list(self._entries)

    @property
    def entries(self) -> dict[str, Any]:
        """Members by name."""
        return dict(self._entries)

    @property
    def items(self) -> ItemsView[str, Any]:
        """Pairs of name and value."""
        return self._entries.items()

    @property
    def methods(self) -> dict[str, Callable[..., Any]]:
        """Functions of the struct's type by name."""
        return self._methods

    def to_dict(self, include_methods: bool = False, include_ndim: bool = False) -> dict[str, Any]:
        """Return the members as numbers, lists and dicts.

        include_methods: add the methods under `__struct_methods`. include_ndim: add the number of axes of vectors and
        matrices under `__matrix_ndim`.
        """
        values = dict(self._entries)
        members: dict[str, Any] = {
            name: value.to_dict(include_methods, include_ndim)
            if isinstance(value, Struct)
            else value.to_list()
            if isinstance(value, Matrix)
            else value
            for name, value in values.items()
        }
        if include_methods:
            members[METHODS] = self._methods
        if include_ndim:
            members["__matrix_ndim"] = {name: v.ndim for name, v in values.items() if isinstance(v, Matrix)}
        return members

    def __repr__(self) -> str:
        return str(self.to_dict())

    def __deepcopy__(self, memo: Any = None) -> Struct:
        return copy_of(self)

    __copy__ = __deepcopy__

    def __reduce__(self) -> Any:
        return Struct, (self.to_dict(),)

    @staticmethod
    def field(
        members: Mapping[str, Any],
        methods: Mapping[str, Callable[..., Any]] | None = None,
        shape: Any = None,
        name: str = "",
        offset: Any = None,
        needs_grad: bool = False,
        needs_dual: bool = False,
        layout: Layout = Layout.AOS,
    ) -> Any:
        """Make a field of structs with these member types; the other arguments are those of `ti.field`."""
        struct_type = StructType(members, dict(methods or {}))
        options = {"offset": offset, "needs_grad": needs_grad, "needs_dual": needs_dual, "layout": layout}
        return make_field(struct_type, shape, name=name, **options)


def _fill(struct: Struct, entries: MutableMapping[str, Any], methods: Any, type: StructType | None) -> None:
    for name, value in (("_entries", entries), ("_methods", methods), ("_type", type)):
        object.__setattr__(struct, name, value)


def make_struct(entries: MutableMapping[str, Any], type: StructType) -> Struct:
    """Return a value of `type` over entries that have the right types."""
    struct = object.__new__(Struct)
    _fill(struct, entries, type.methods, type)
    return struct


def type_of_struct(struct: Struct) -> StructType | None:
    """Return the type of a value, None for one created by `ti.Struct(...)`."""
    return struct._type


def copy_of(struct: Struct) -> Struct:
    """Return a deep copy of a struct."""
    copied = object.__new__(Struct)
    _fill(copied, {name: _as_entry(value) for name, value in struct.items}, struct.methods, struct._type)
    return copied


def assign(struct: Struct, value: Any) -> None:
    """Set every member of `struct` from another one, or from a dict. Raises: TaichiTypeError for anything else."""
    if not isinstance(value, (Struct, dict)):
        raise TaichiTypeError("Only dict or Struct can be assigned to a Struct")
    given = dict(value._entries) if isinstance(value, Struct) else value
    names = [name for name in given if name != METHODS]
    if sorted(names) != sorted(struct._entries):
        raise TaichiTypeError(f"Member mismatch between structs {list(struct._entries)}, {names}")
    for name in names:
        struct[name] = given[name]


def _as_entry(value: Any) -> Any:
    if isinstance(value, Struct):
        return copy_of(value)
    if isinstance(value, dict):
        return Struct(value)
    if isinstance(value, (list, tuple, np.ndarray, Matrix)):
        return (Vector if np.ndim(unwrap(value)) == 1 else Matrix)(unwrap(value))
    return value


def _bound(method: Any, struct: Struct) -> Any:
    return method.__get__(struct, type(struct)) if hasattr(method, "__get__") else MethodType(method, struct)


# --- types ----------------------------------------------------------------------------------------------------------


class StructType(DescribesType):
    """Type of structs; calling it creates a value, in Python scope and in kernels.

    Attributes:
        members: types by name, as given to `ti.types.struct`.
        methods: methods of its values.
        name: of the class for a dataclass, else None.
        scope: module in which the type was created: its variable name there is the name in the emitted source.
    """

    def __init__(
        self,
        members: Mapping[str, Any],
        methods: Mapping[str, Callable[..., Any]],
        name: str | None = None,
        scope: Mapping[str, Any] | None = None,
    ) -> None:
        self.members = {member: _as_member(type) for member, type in members.items()}
        self.methods = dict(methods)
        self.name = name
        self.scope = scope

    def __call__(self, *args: Any, **kwargs: Any) -> Struct:
        """Make a value from members in order or by name; those not given are 0.

        Raises: TaichiSyntaxError for too many values, and for names that are no members.
        """
        try:
            given = self.arguments(args, kwargs)
        except TaichiSyntaxError as error:
            raise as_seen_by_user(error) from None
        values = {name: _converted(type, given.get(name, 0), name) for name, type in self.members.items()}
        return make_struct(values, self)

    def arguments(self, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call by member. Raises: TaichiSyntaxError for those that belong to no member."""
        names = list(self.members)
        if len(args) == 1 and not kwargs and isinstance(args[0], dict):
            args, kwargs = (), args[0]
        if len(args) > len(names):
            raise TaichiSyntaxError(f"{self.title} has {len(names)} members, found {len(args)} values")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.members:
                raise TaichiSyntaxError(f"{self.title} has no member `{name}`; it has {', '.join(names)}")
            if name in given:
                raise TaichiSyntaxError(f"Multiple values for member `{name}` of {self.title}")
            given[name] = value
        return given

    @property
    def title(self) -> str:
        """Name of the type in errors."""
        return f"struct `{self.known_name() or self}`"

    def known_name(self) -> str | None:
        """Return the name of the class, or of the first global variable of the type's module whose value it is."""
        if self.name is None and self.scope is not None:
            return next((name for name, value in list(self.scope.items()) if value is self), None)
        return self.name

    @property
    def dtype(self) -> StructInKernel:
        """The IR type."""
        return self._described(type_of)

    def describe_type(self, options: CompileOptions) -> StructInKernel:
        """Return the IR type under the default number types of `options`; see `annotations.as_type`."""
        return self._described(lambda type: as_type(type, options))

    def _described(self, convert: Callable[[Any], Type | None]) -> StructInKernel:
        described = [(name, convert(type)) for name, type in self.members.items()]
        members = tuple((name, type) for name, type in described if type is not None)
        return StructInKernel(self.known_name() or "struct", members, self)

    def cast(self, struct: Any) -> Struct:
        """Return a struct or dict as a value of this type. Raises: TaichiSyntaxError if members differ."""
        given = dict(struct.items) if isinstance(struct, Struct) else struct
        if not isinstance(given, dict) or sorted(given) != sorted(self.members):
            raise TaichiSyntaxError("Incompatible arguments for custom struct members!")
        return self(**given)

    def filled_with_scalar(self, value: Any) -> Struct:
        """Return a value whose every number is `value`."""
        given = {
            name: type.filled_with_scalar(value) if isinstance(type, StructType) else value
            for name, type in self.members.items()
        }
        return self(**given)

    def field(self, *args: Any, **kwargs: Any) -> Any:
        """Make a field of such structs; the arguments are those of `ti.field` after `dtype`."""
        return make_field(self, *args, **kwargs)

    def ndarray(self, *args: Any, **kwargs: Any) -> Any:
        """Make an ndarray of such structs; the arguments are those of `ti.ndarray` after `dtype`."""
        return make_ndarray(self, *args, **kwargs)

    def __copy__(self) -> StructType:
        return self

    def __deepcopy__(self, memo: Any) -> StructType:
        return self  # as classes

    def __instancecheck__(self, instance: Any) -> bool:
        return isinstance(instance, Struct) and type_of_struct(instance) is self

    def __str__(self) -> str:
        members = "".join(f"{name}={type}, " for name, type in self.members.items())
        return f"<ti.StructType {members}struct_methods={self.methods}>"

    def __repr__(self) -> str:
        return f"<struct type {self.known_name() or tuple(self.members)}>"


def _as_member(type: Any) -> Any:
    """Return a member's type as given. Raises: ValueError if it is no type."""
    if isinstance(type, dict):
        return StructType({k: v for k, v in type.items() if k != METHODS}, type.get(METHODS, {}))
    if not isinstance(type, (StructType, VectorType, MatrixType)) and type not in (int, float):
        return scalar_of(type)
    return type


def _converted(type: Any, value: Any, name: str) -> Any:
    """Return a member's value in its type."""
    if isinstance(type, StructType):
        return type() if isinstance(value, int) and value == 0 else type.cast(value)
    kind = type_of(type)
    if isinstance(kind, Tensor):
        return make_value(kind, (value,))
    assert isinstance(kind, Scalar)
    if isinstance(value, (Struct, Matrix, dict, list, tuple, str)) or value is None:
        raise TaichiTypeError(f"Member `{name}` is a number of type {kind}, found {value!r}")
    return float(value) if kind.is_float else kind(value)  # floats are rounded in memory, as in Taichi


def struct(**kwargs: Any) -> StructType:
    """Return the type of structs with the members `kwargs`: `ti.types.struct(pos=vec3, mass=ti.f32)`.

    `__struct_methods` is a dict of methods, not a member.

    Example:
        >>> Ball = ti.types.struct(pos=ti.math.vec2, mass=ti.f32)
        >>> Ball(mass=2.0).mass
        2.0
    """
    methods = kwargs.pop(METHODS, {})
    return StructType(kwargs, methods, scope=sys._getframe(1).f_globals)


def dataclass(cls: type) -> StructType:
    """Make a struct type of class `cls`: its annotations are the members, its functions the methods.

    Raises: TaichiSyntaxError if a member has a default value.

    Example:
        >>> @ti.dataclass
        ... class Ball:
        ...     position: ti.math.vec2
        ...     mass: ti.f32
        ...     @ti.func
        ...     def momentum(self, speed):
        ...         return self.mass * speed
        >>> Ball(position=ti.math.vec2(0, 1), mass=2.0).mass
        2.0
    """
    annotations: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        annotations |= inspect.get_annotations(base, locals=sys._getframe(1).f_locals, eval_str=True)
    if any(name in vars(base) for base in cls.__mro__[:-1] for name in annotations):
        raise TaichiSyntaxError("Default value in @dataclass is not supported.")
    methods = {
        name: member
        for base in reversed(cls.__mro__[:-1])
        for name, member in vars(base).items()
        if not name.startswith("__") and (callable(member) or isinstance(member, staticmethod))
    }
    return StructType(annotations, methods, cls.__name__)
