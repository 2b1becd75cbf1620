"""Known values of array elements, indexed by address: a store finds the elements that it may change without a search.

Input: pointers and values of stores and loads, in program order. Output: values of elements. Elements are indexed by
object, member path, run-time part of the indices, then constant part of the indices, so that a kernel with thousands of
accesses to one array takes time in proportion to them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...ir.nodes import Statement
from ...ir.statements import GlobalPtr, base_pointer
from .aliasing import MemoryObject, Split, may_alias, member_path, split_indices, underlying_object

Bases = tuple[Statement | None, ...]
"""The run-time part of each index; None if it is a constant."""
Offsets = tuple[int, ...]
"""The constant part of each index."""
Path = tuple[str, ...]
"""Members that lead from the element to the target of a pointer."""
Key = tuple[MemoryObject, Path, Bases, Offsets]


class Addresses:
    """The addresses of pointers, each computed once. A walk shares one object, as long as operands stay as they are."""

    def __init__(self) -> None:
        self.keys: dict[Statement, Key | None] = {}
        self.split: dict[Statement, Split] = {}

    def of(self, pointer: Statement) -> Key | None:
        """Return the parts of an address, None for a pointer to a local variable."""
        if pointer in self.keys:
            return self.keys[pointer]
        target = underlying_object(pointer)
        key: Key | None = None
        if target is not None:
            base = base_pointer(pointer)
            path = () if base is pointer else tuple(member_path(pointer))
            parts = split_indices(base, self.split) if isinstance(base, GlobalPtr) else []
            key = (target, path, tuple([b for b, _ in parts]), tuple([offset for _, offset in parts]))
        self.keys[pointer] = key
        return key


class _Group:
    """Elements of one object with equal members and equal run-time parts of the indices.

    Attributes:
        pointers: by the constant parts of the indices.
        indexes: by axes and by the constants along them, the keys of `pointers`; made when a store asks for them.
    """

    __slots__ = ("indexes", "pointers")

    def __init__(self) -> None:
        self.pointers: dict[Offsets, list[Statement]] = {}
        self.indexes: dict[tuple[int, ...], dict[Offsets, dict[Offsets, None]]] = {}

    def add(self, offsets: Offsets, pointer: Statement) -> None:
        if offsets in self.pointers:
            self.pointers[offsets].append(pointer)
            return
        self.pointers[offsets] = [pointer]
        for axes, index in self.indexes.items():
            index.setdefault(tuple([offsets[axis] for axis in axes]), {})[offsets] = None

    def pop(self, offsets: Offsets) -> list[Statement]:
        """Remove and return the pointers with these constants."""
        found = self.pointers.pop(offsets, None)
        if found is None:
            return []
        for axes, index in self.indexes.items():
            index[tuple([offsets[axis] for axis in axes])].pop(offsets)
        return found

    def near(self, axes: tuple[int, ...], offsets: Offsets) -> list[Offsets]:
        """Return the keys of `pointers` that have the same constants along `axes`."""
        index = self.indexes.get(axes)
        if index is None:
            index = self.indexes[axes] = {}
            for known in self.pointers:
                index.setdefault(tuple([known[axis] for axis in axes]), {})[known] = None
        return list(index.get(tuple([offsets[axis] for axis in axes]), ()))


class _Object:
    """The known elements of one object: groups by member path and run-time part of the indices.

    below: for each path, the longer paths that start with it.
    """

    __slots__ = ("below", "paths")

    def __init__(self) -> None:
        self.paths: dict[Path, dict[Bases, _Group]] = {}
        self.below: dict[Path, dict[Path, None]] = {}

    def group(self, path: Path, bases: Bases) -> _Group:
        """Return the group, which may be new."""
        groups = self.paths.get(path)
        if groups is None:
            groups = self.paths[path] = {}
            for length in range(len(path)):
                self.below.setdefault(path[:length], {})[path] = None
        group = groups.get(bases)
        if group is None:
            group = groups[bases] = _Group()
        return group

    def only_group(self, path: Path, bases: Bases) -> _Group | None:
        """Return the group with this path and these bases, if the object has no other."""
        if len(self.paths) > 1:
            return None
        groups = self.paths.get(path)
        return groups.get(bases) if groups is not None and len(groups) == 1 else None

    def forget(self, path: Path, bases: Bases, offsets: Offsets) -> Iterator[Statement]:
        """Remove and yield the pointers that a write to this address may change."""
        related = [path[:length] for length in range(len(path) + 1)]
        for known in (*related, *self.below.get(path, ())):
            if known in self.paths:
                yield from self._forget_in(self.paths[known], bases, offsets)
                if not self.paths[known]:
                    self._drop(known)

    def _forget_in(self, groups: dict[Bases, _Group], bases: Bases, offsets: Offsets) -> Iterator[Statement]:
        """Remove and yield the pointers of equal members that a write may change; drop empty groups."""
        empty: list[Bases] = []
        for other, group in groups.items():
            if other == bases:  # then other constants are other elements
                yield from group.pop(offsets)
            elif axes := tuple([axis for axis, base in enumerate(other) if base is bases[axis]]):
                for near in group.near(axes, offsets):
                    yield from group.pop(near)
            else:
                for pointers in group.pointers.values():
                    yield from pointers
                group.pointers.clear()
            if not group.pointers:
                empty.append(other)
        for other in empty:
            del groups[other]

    def _drop(self, path: Path) -> None:
        """Drop a path without elements."""
        del self.paths[path]
        for length in range(len(path)):
            self.below[path[:length]].pop(path)

    def all(self) -> Iterator[Statement]:
        """Yield all pointers."""
        for groups in self.paths.values():
            for group in groups.values():
                for pointers in group.pointers.values():
                    yield from pointers


class KnownElements:
    """Values of elements by pointer, and the index by which a write finds those that it may change."""

    def __init__(self, addresses: Addresses) -> None:
        self.addresses = addresses
        self.values: dict[Statement, Statement] = {}
        self.objects: dict[MemoryObject, _Object] = {}
        self.aliased: dict[MemoryObject, None] = {}

    def get(self, pointer: Statement) -> Statement | None:
        """Return the value of the element at `pointer`, None if it is not known."""
        return self.values.get(pointer)

    def remember(self, pointer: Statement, value: Statement) -> None:
        """Record that the element at `pointer`, which was unknown, has the value `value`."""
        key = self.addresses.of(pointer)
        if key is None:
            return
        target, path, bases, offsets = key
        known = self.objects.get(target)
        if known is None:
            known = self.objects[target] = _Object()
            if may_alias(target):
                self.aliased[target] = None
        known.group(path, bases).add(offsets, pointer)
        self.values[pointer] = value

    def forget(self, written: Statement) -> None:
        """Forget all elements that a write through `written` may change."""
        if not self.values:
            return
        key = self.addresses.of(written)
        if key is None:
            return
        target, path, bases, offsets = key
        if self.aliased and may_alias(target):
            for other in [other for other in self.aliased if other is not target]:
                self._forget_object(other)
        known = self.objects.get(target)
        if known is None:
            return
        group = known.only_group(path, bases)
        if group is not None and len(group.pointers) > 1:  # most writes: then other constants are other elements
            for pointer in group.pop(offsets):
                del self.values[pointer]
            return
        for pointer in known.forget(path, bases, offsets):
            del self.values[pointer]

    def forget_objects(self, written: Iterable[MemoryObject]) -> None:
        """Forget all elements of objects that may share memory with one of `written`."""
        if not self.values:
            return
        for target in written:
            if self.aliased and may_alias(target):
                for other in list(self.aliased):
                    self._forget_object(other)
            elif target in self.objects:
                self._forget_object(target)

    def _forget_object(self, target: MemoryObject) -> None:
        self.aliased.pop(target, None)
        for pointer in self.objects.pop(target).all():
            del self.values[pointer]
