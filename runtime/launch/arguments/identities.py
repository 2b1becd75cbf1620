"""Which Python objects a kernel was compiled for: names for them that keep nothing alive and never mean another object.

In: template arguments. Out: keys, equal for the same object (or, for numbers, strings and containers, equal contents).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from typing import Any
from weakref import ref

from ....transpiler.lang.describe import is_described


class _Name:
    """Stands for one object in keys. Its address is no other object's as long as a key has it."""

    __slots__ = ()


class Identities:
    """Names the objects of one kernel's keys."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Callable[[], Any], _Name]] = {}

    def key_of(self, value: Any) -> Hashable:
        """Return the key of a template argument: of fields their signature, of containers their contents."""
        if is_described(value):
            return value.signature  # type: ignore[no-any-return]
        if isinstance(value, (int, float, bool, str)) or value is None:
            return type(value), value
        if type(value) in (list, tuple):
            return type(value), *map(self.key_of, value)
        if type(value) is dict:
            return dict, *((name, self.key_of(item)) for name, item in value.items())
        return type(value), self._name_of(value)

    def _name_of(self, value: Any) -> _Name:
        found = self._known.get(id(value))
        if found is not None:
            return found[1]
        name = _Name()
        known: Callable[[], Any] = weakly(value, partial(_forget, self._known, id(value)))
        self._known[id(value)] = known, name
        return name

    def clear(self) -> None:
        """Forget all objects."""
        self._known.clear()


def _forget(known: dict[int, tuple[Callable[[], Any], _Name]], identity: int, gone: object) -> None:
    known.pop(identity, None)


def weakly(value: Any, when_gone: Callable[[Any], None]) -> Callable[[], Any]:
    """Return a weak reference, or one that keeps objects which know no weak ones (of classes with `__slots__`)."""
    try:
        return ref(value, when_gone)
    except TypeError:
        return lambda: value


def objects_in(value: Any) -> Iterator[Any]:
    """Yield what a key names by identity: the value, or what lies in a list, tuple or dict."""
    if isinstance(value, list | tuple):
        for item in value:
            yield from objects_in(item)
    elif isinstance(value, dict):
        yield from objects_in(list(value.values()))
    elif value is not None and not isinstance(value, (int, float, str, type)):
        yield value
