"""`dataclass` of the standard library, but with an `__init__` that is compiled when the class is first used.

The standard decorator writes and compiles the source of four to six methods for each class, 0.5 ms in all: a quarter of
the processor time of a cold start, for classes most of which are never used. Here `__init__` is a placeholder until the
first instance, and the other methods are ordinary functions over the names of the members. `fields`, `replace`,
`match`, copies and messages are those of the standard library.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, *, eq=True, frozen=False, slots=False, kw_only=False):
        """Make a class a dataclass; see `dataclasses.dataclass`."""
        if cls is None:
            return lambda decorated: _decorate(decorated, eq, frozen, slots, kw_only)
        return _decorate(cls, eq, frozen, slots, kw_only)


def _decorate(cls: Any, eq: bool, frozen: bool, slots: bool, kw_only: bool) -> Any:
    own = set(cls.__dict__)
    inherits = frozen and any(dataclasses.is_dataclass(base) for base in cls.__mro__[1:])  # must agree with its base
    made: Any = dataclasses.dataclass(
        cls, init=False, repr=False, eq=False, frozen=inherits, slots=slots, kw_only=kw_only
    )
    params = made.__dataclass_params__
    params.init, params.repr, params.eq, params.frozen = True, True, eq, frozen
    members = dataclasses.fields(made)
    methods: dict[str, Any] = {"__init__": _placeholder(made), "__repr__": _repr_of(members)}
    if eq:
        compared = _values_of([member for member in members if member.compare])
        methods["__eq__"], methods["__hash__"] = _equality(compared), None
        if frozen:
            hashed = [member for member in members if (member.compare if member.hash is None else member.hash)]
            methods["__hash__"] = _hash_of(_values_of(hashed))
    if frozen:
        methods["__setattr__"], methods["__delattr__"] = _refuse_set, _refuse_delete
        if slots:
            methods["__getstate__"], methods["__setstate__"] = _get_state, _set_state
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _placeholder(cls: Any) -> Callable[..., None]:
    """Return an `__init__` that compiles the real one, puts it into the class and calls it."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        cls.__init__ = init = _compiled(cls)
        init(self, *args, **kwargs)

    return __init__


def _compiled(cls: Any) -> Callable[..., None]:
    """Return the `__init__` of a class, made of the names of its members."""
    names: dict[str, Any] = {"MISSING": dataclasses.MISSING, "set_member": object.__setattr__}
    positional: list[str] = []
    named: list[str] = []
    lines: list[str] = []
    is_frozen = cls.__dataclass_params__.frozen
    has_slots = all("__slots__" in base.__dict__ for base in cls.__mro__[:-1])
    setter = "self.{name} = {value}"
    if is_frozen:
        setter = "set_{name}(self, {value})" if has_slots else "set_member(self, {name!r}, {value})"
    for member in dataclasses.fields(cls):
        name, value = member.name, member.name
        parameter = name
        if member.default_factory is not dataclasses.MISSING:
            names[f"make_{name}"] = member.default_factory
            parameter, value = f"{name}=MISSING", f"make_{name}() if {name} is MISSING else {name}"
            if not member.init:
                value = f"make_{name}()"
        elif member.default is not dataclasses.MISSING:
            names[f"default_{name}"] = member.default
            parameter = f"{name}=default_{name}"
            if not member.init:
                value = f"default_{name}"
        elif not member.init:
            continue
        if member.init:
            (named if member.kw_only else positional).append(parameter)
        if is_frozen and has_slots:  # the slot's own method takes half the time of `object.__setattr__`
            names[f"set_{name}"] = getattr(cls, name).__set__
        lines.append(setter.format(name=name, value=value))
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = ", ".join(["self", *positional, *(["*", *named] if named else [])])
    body = "\n    ".join(lines or ["pass"])
    exec(f"def __init__({parameters}):\n    {body}", names)  # noqa: S102 - made of names of members
    init: Callable[..., None] = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _values_of(members: list[Any]) -> Callable[[Any], Any]:
    """Return the function from an instance to a tuple of the values of some members."""
    if len(members) > 1:
        return attrgetter(*(member.name for member in members))
    names = [member.name for member in members]
    return lambda instance: tuple(getattr(instance, name) for name in names)


def _equality(values: Callable[[Any], Any]) -> Callable[[Any, Any], Any]:
    def __eq__(self: Any, other: Any) -> Any:  # noqa: N807
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    return __eq__


def _hash_of(values: Callable[[Any], Any]) -> Callable[[Any], int]:
    def __hash__(self: Any) -> int:  # noqa: N807
        return hash(values(self))

    return __hash__


def _repr_of(members: Any) -> Callable[[Any], str]:
    names = [member.name for member in members if member.repr]

    @recursive_repr()
    def __repr__(self: Any) -> str:  # noqa: N807
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    return __repr__


def _refuse_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, member.name) for member in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for member, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, member.name, value)
