"""Identities of the Python objects a kernel was compiled for; they keep nothing alive and never name another object.

In: template arguments. Out: keys, equal for the same object (or, for numbers, strings and containers, equal contents).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any
from weakref import ref

from ....transpiler.lang.describe import is_described


class _Identity:
    """Represents one object in keys; unlike an `id`, it is never reused while a key holds it."""

    __slots__ = ()


class Identities:
    """Gives the objects of one kernel's keys their identities."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Callable[[], Any], _Identity]] = {}

    def key_of(self, value: Any) -> Hashable:
        """Return the key of a template argument: the signature of a field, the contents of a container."""
        if is_described(value):
            return value.signature  # type: ignore[no-any-return]
        if isinstance(value, (int, float, bool, str)) or value is None:
            return type(value), value
        if type(value) in (list, tuple):
            return type(value), *map(self.key_of, value)
        if type(value) is dict:
            return dict, *((name, self.key_of(item)) for name, item in value.items())
        return type(value), self._identity_of(value)

    def _identity_of(self, value: Any) -> _Identity:
        found = self._known.get(id(value))
        if found is not None:
            return found[1]
        identity = _Identity()
        reference: Callable[[], Any] = weak_reference(value, partial(_forget, self._known, id(value)))
        self._known[id(value)] = reference, identity
        return identity

    def clear(self) -> None:
        """Forget all objects."""
        self._known.clear()


def _forget(known: dict[int, tuple[Callable[[], Any], _Identity]], address: int, reference: object) -> None:
    known.pop(address, None)


def weak_reference(value: Any, callback: Callable[[Any], None]) -> Callable[[], Any]:
    """Return a weak reference, or a strong one to objects without weak references (of classes with `__slots__`)."""
    try:
        return ref(value, callback)
    except TypeError:
        return lambda: value


def objects_in(value: Any) -> Iterator[Any]:
    """Yield the objects that a key holds by identity: the value, or the items of a list, tuple or dict."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from objects_in(item)
    elif isinstance(value, dict):
        yield from objects_in(list(value.values()))
    elif value is not None and not isinstance(value, (int, float, str, type)):
        yield value
