"""The state of the dependency walk from a kernel to all objects that determine its source: records, numbers, names.

`fingerprint.py` decides where the walk goes, and `describe.py` describes each object; both write to this state.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from typing import Any

from ...transpiler.ir.snodes import Node
from ...transpiler.lazy_dataclasses import dataclass
from .function_source import FunctionSource

MISSING = object()
"""The result of a look-up for a name that does not exist."""


class Undescribable(Exception):
    """A kernel cannot be cached; the message gives the reason."""


OWN_PREFIX = "_shadesmith_"
"""Prefix of the attributes that shadesmith sets on functions."""


@dataclass(slots=True)
class Holder:
    """An object whose members are described when their names occur. items: returns its present members by name."""

    value: Any
    label: str
    path: str
    items: Callable[[], Mapping[str, Any]]
    is_class: bool = False
    """Members with dunder names are described too: Python calls them implicitly."""
    makes: bool = False
    """Constructors are described too."""
    done: set[str] = field(default_factory=set)


class Running:
    """Identifies a function that kernels build in its second role, where Python runs it."""


class Walk:
    """One dependency walk. It visits functions in order of appearance, and members when no function is left."""

    def __init__(self, config: Any, describe: Callable[[Walk, Any], str]) -> None:
        self.config, self.describe = config, describe
        self.records: list[str] = []
        self.numbers: dict[int, int] = {}
        self.objects: list[Any] = []
        self.alive: list[Any] = []
        self.trees: dict[Node, tuple[int, Any]] = {}
        self.names: set[str] = set()
        self.run_names: set[str] = set()
        """Names that occur in functions that Python runs, whose reads are not observed."""
        self.pending: deque[tuple[Any, bool, Any]] = deque()
        """Functions to visit, whether Python runs them, and the object that identifies this use."""
        self.running: list[tuple[Any, Any, frozenset[str]]] = []
        """Functions that Python runs: the object that identifies this use, the function, its names."""
        self.arrays: set[int] = set()
        self.array_members: set[str] = set()
        self.holders: list[Holder] = []
        self.deferred_holders: dict[int, Holder] = {}
        self.functions: list[tuple[Any, FunctionSource]] = []
        self.count = 0
        self.unknown: dict[int, str] = {}
        self.reach: dict[int, set[int]] = {}
        self.member_reach: list[tuple[int, str, int]] = []
        self.roots: set[int] = set()
        self.sights: dict[int, Mapping[str, Any]] = {}
        """Globals of functions that kernels build: their names for nodes of trees appear in sources."""
        self.oriented: list[Any] = []
        self.sets: dict[int, set[str]] = {}
        """Sets whose order differs between processes, with the names by which they were reached."""
        self.makes = False
        """Whether objects of any class may be made while the kernel is compiled."""
        self.matches = False
        """Whether Python runs a `match` that may read a class's `__match_args__`."""
        self.also_run: dict[int, Running] = {}
        self.path = ""
        self.native = False
        """Whether a function that Python runs reads the present object, not a kernel."""
        self.reader: Any = None
        """That function."""
        self.owner: Any = None
        """The object that contains the present object, or the present object itself."""

    # --- values

    def record(self, text: str) -> None:
        """Add to the material."""
        self.records.append(text)

    def number(self, value: Any) -> tuple[int, bool]:
        """Return the number of an object, and whether it is new. The walk keeps the object alive."""
        self.touch(value)
        found = self.numbers.get(id(value))
        if found is not None:
            return found, False
        self.numbers[id(value)] = number = len(self.objects)
        self.objects.append(value)
        return number, True

    def touch(self, value: Any) -> None:
        """Record that a reader of the owner may read `value` unobserved."""
        if self.owner is not None and value is not self.owner:
            self.reach.setdefault(id(self.owner), set()).add(id(value))

    def named(self, path: str, value: Any, owner: Any = None, label: str = "") -> None:
        """Record the value of a name or a member.

        owner: the function run by Python that may read it; None if the read is observed.
        """
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
        """Return a description of a value; its contents may be described later, under its number."""
        return self.describe(self, value)

    def inside(self, owner: Any, values: Iterable[Any]) -> list[str]:
        """Return descriptions of the contents of an object."""
        self.touch(owner)
        outer, self.owner = self.owner, owner
        found = [self.describe(self, value) for value in values]
        self.owner = outer
        return found

    def cannot(self, value: Any, why: str = "") -> str:
        """Record that a value has no description; return a substitute."""
        self.touch(value)
        kind = type(value).__qualname__
        name = getattr(value, "__qualname__", "")
        shown = f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) and name else f"a {kind}"
        self.forbid(value, f"`{self.path}` is {why or f'{shown}, which may be something else in the next run'}")
        return f"unknown {kind}"

    def function(self, value: Any, runs: bool) -> str:
        """Return the number of a function, which is visited later. runs: Python runs it; else kernels build it."""
        number, is_new = self.number(value)
        if is_new:
            self.pending.append((value, runs, value))
            attributes = {name: item for name, item in vars(value).items() if name[: len(OWN_PREFIX)] != OWN_PREFIX}
            if attributes:
                self.defer_members(value, lambda: attributes)
        return f"{'run' if runs else 'function'}#{number}"

    def also_runs(self, value: Any) -> Running:
        """Visit a function that kernels build also as one that Python runs; return the identity of this use."""
        found = self.also_run.get(id(value))
        if found is None:
            found = self.also_run[id(value)] = Running()
            self.pending.append((value, True, found))
        return found

    def forbid(self, owner: Any, why: str) -> None:
        """Record that a kernel whose compilation reads `owner` cannot be cached."""
        self.alive.append(owner)
        self.unknown[id(owner)] = why

    def defer_members(
        self, value: Any, items: Callable[[], Mapping[str, Any]], is_class: bool = False, makes: bool = False
    ) -> None:
        """Describe the members of a numbered object when their names occur."""
        holder = self.deferred_holders.get(id(value))
        if holder is None:
            label = f"#{self.numbers[id(value)]}"
            holder = self.deferred_holders[id(value)] = Holder(value, label, self.path, items, is_class)
            self.holders.append(holder)
        holder.makes = holder.makes or makes
