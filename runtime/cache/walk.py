"""What a walk from a kernel to all that decides its text has found so far: records, numbers, names, what leads where.

`fingerprint.py` says where the walk goes, `describe.py` how each object is described; this is what both write to.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...transpiler.ir.snodes import Node
from .function_source import TextOfFunction

MISSING = object()
"""What a look-up gives for a name that is nowhere."""


class Undescribable(Exception):
    """A kernel cannot be kept; the words say why."""


OURS = "_shadesmith_"
"""What names of attributes begin with that we give to functions."""


@dataclass(slots=True)
class Holder:
    """Something whose members are described as their names occur. items: gives what there is now, by name."""

    value: Any
    label: str
    path: str
    items: Callable[[], Mapping[str, Any]]
    is_class: bool = False
    """Members whose names are dunders are described too: Python calls them unasked."""
    makes: bool = False
    """So are constructors."""
    done: set[str] = field(default_factory=set)


class Running:
    """Stands for a function of both scopes where Python runs it."""


class Walk:
    """One walk. Functions are looked at in order of appearance, members when no function is left."""

    def __init__(self, config: Any, describe: Callable[[Walk, Any], str]) -> None:
        self.config, self.describe = config, describe
        self.records: list[str] = []
        self.numbers: dict[int, int] = {}
        self.objects: list[Any] = []
        self.alive: list[Any] = []
        self.trees: dict[Node, tuple[int, Any]] = {}
        self.names: set[str] = set()
        self.run_names: set[str] = set()
        """Those that occur in what Python runs, where nobody sees what is read."""
        self.pending: deque[tuple[Any, bool, Any]] = deque()
        """Functions to look at, whether Python runs them, and the object that stands for that."""
        self.running: list[tuple[Any, Any, frozenset[str]]] = []
        """What Python runs: the object that stands for it, the function, its names."""
        self.arrays: set[int] = set()
        self.array_members: set[str] = set()
        self.holders: list[Holder] = []
        self.deferred_holders: dict[int, Holder] = {}
        self.functions: list[tuple[Any, TextOfFunction]] = []
        self.count = 0
        self.unknown: dict[int, str] = {}
        self.reach: dict[int, set[int]] = {}
        self.member_reach: list[tuple[int, str, int]] = []
        self.roots: set[int] = set()
        self.sights: dict[int, Mapping[str, Any]] = {}
        """Globals of functions that kernels build: their names for nodes of trees appear in texts."""
        self.oriented: list[Any] = []
        self.sets: dict[int, set[str]] = {}
        """Sets whose order differs from process to process, with the names by which they were met."""
        self.makes = False
        """Whether objects of any class may be made while the kernel is compiled."""
        self.matches = False
        """Whether Python runs a `match` that may ask a class which members its patterns mean."""
        self.also_run: dict[int, Running] = {}
        self.path = ""
        self.native = False
        """Whether Python's own code reads what is being described, not a kernel's."""
        self.reader: Any = None
        """What of Python's own code reads it."""
        self.owner: Any = None
        """What the object that is being described was found in, or itself."""

    # --- values

    def record(self, text: str) -> None:
        """Add to the material."""
        self.records.append(text)

    def number(self, value: Any) -> tuple[int, bool]:
        """Return the number of an object, and whether it appears for the first time. It lives as long as the walk."""
        self.touch(value)
        found = self.numbers.get(id(value))
        if found is not None:
            return found, False
        self.numbers[id(value)] = number = len(self.objects)
        self.objects.append(value)
        return number, True

    def touch(self, value: Any) -> None:
        """Note that who reads the owner may read `value` unseen."""
        if self.owner is not None and value is not self.owner:
            self.reach.setdefault(id(self.owner), set()).add(id(value))

    def named(self, path: str, value: Any, owner: Any = None, label: str = "") -> None:
        """Record what a name or a member stands for. owner: what Python runs that may read it; None: it is seen who
        does."""
        outer = self.path, self.owner, self.native, self.reader
        self.path, self.owner, self.native = path, value if owner is None else owner, owner is not None
        self.reader = owner
        self.alive.append(value)
        if owner is not None:
            self.touch(value)
            self.owner = value
        self.record(f"{label or path}={self.of(value)}")
        self.path, self.owner, self.native, self.reader = outer

    def of(self, value: Any) -> str:
        """Return a description of a value; what it holds may be described later, under its number."""
        return self.describe(self, value)

    def inside(self, owner: Any, values: Iterable[Any]) -> list[str]:
        """Return descriptions of what an object holds."""
        self.touch(owner)
        outer, self.owner = self.owner, owner
        found = [self.describe(self, value) for value in values]
        self.owner = outer
        return found

    def cannot(self, value: Any, why: str = "") -> str:
        """Note that a value has no description; return what stands for it."""
        self.touch(value)
        kind = type(value).__qualname__
        name = getattr(value, "__qualname__", "")
        shown = f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) and name else f"a {kind}"
        self.forbid(value, f"`{self.path}` is {why or f'{shown}, which may be something else in the next run'}")
        return f"unknown {kind}"

    def function(self, value: Any, runs: bool) -> str:
        """Return the number of a function, which is looked at later. runs: Python runs it; else kernels build it."""
        number, is_new = self.number(value)
        if is_new:
            self.pending.append((value, runs, value))
            attributes = {name: item for name, item in vars(value).items() if name[: len(OURS)] != OURS}
            if attributes:
                self.defer_members(value, lambda: attributes)
        return f"{'run' if runs else 'function'}#{number}"

    def runs_too(self, value: Any) -> Running:
        """Look at a function that kernels build also as one that Python runs; return what stands for that."""
        found = self.also_run.get(id(value))
        if found is None:
            found = self.also_run[id(value)] = Running()
            self.pending.append((value, True, found))
        return found

    def forbid(self, owner: Any, why: str) -> None:
        """Note that a kernel cannot be kept for which `owner` is read."""
        self.alive.append(owner)
        self.unknown[id(owner)] = why

    def defer_members(
        self, value: Any, items: Callable[[], Mapping[str, Any]], is_class: bool = False, makes: bool = False
    ) -> None:
        """Describe the members of a numbered object as their names occur."""
        holder = self.deferred_holders.get(id(value))
        if holder is None:
            label = f"#{self.numbers[id(value)]}"
            holder = self.deferred_holders[id(value)] = Holder(value, label, self.path, items, is_class)
            self.holders.append(holder)
        holder.makes = holder.makes or makes
