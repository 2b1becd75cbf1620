"""What a kernel's text will be made of, found without the frontend: the material of a cache key.

In: a specialization. Out: `Fingerprint`: texts of the kernel and of all functions it may call, and a description of
every Python object that their texts name, as far as names lead: globals, closures, members of objects and classes.
Nothing runs but the walk itself. Names are looked up wherever they occur, so more is described than the frontend reads.

Members are restricted to names that occur anywhere in the call graph; they are looked for until no new names appear.
Objects are numbered by first appearance, so that one array named twice differs from two alike, and an entry can say by
a number which array is meant.

What has no description (a clock, a window) is unknown, and stands in the material as such. That is right as long as the
frontend does not read it: it does the same in every process until it reads what is not described, and a kernel for
which it did is not kept. What it reads is seen (`Compilation.read`); what Python's own functions read is not, so all
that they can reach counts as read with them: that is what `reached` is for.
"""

from __future__ import annotations

import builtins
import types
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...transpiler.frontend.definition import definition_of
from ...transpiler.frontend.specialization import Specialization, TemplateArgument, stable_text
from ...transpiler.ir.snodes import Node
from ...transpiler.lang.decorators import Func
from . import describe
from .describe_own import argument as argument_text
from .describe_own import describe_sight
from .function_text import NoText, TextOfFunction, code_of, text_of

MAX_FUNCTIONS = 500
"""Of a call graph that are looked at; what lies behind them is unknown."""
CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
"""Methods that run when an object is made, and so not for one that is there."""
REFLECTION = frozenset({"__dict__", "__getattribute__", "__globals__", "__closure__", "__subclasses__", "__builtins__"})
"""Members by which a program reads what no text names."""
RUNNING = (types.FunctionType, Func, property, classmethod, staticmethod)
READ_AS_THEY_ARE = (types.FunctionType, Func, types.MemberDescriptorType, staticmethod, classmethod)
"""What a class holds that an attribute gives as it is, or as a method of it; other descriptors give anything."""
MISSING = describe.MISSING
_TEXT = "_shadesmith_text"


class Undescribable(Exception):
    """A kernel cannot be kept; the words say why."""


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


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """material: equal where the emitted text is. objects: by number. trees: (top, owner of the memory) by number.

    functions: those that kernels build, with their texts, in order. unknown: what has no description, by the identity
    of the object that it is or is in. frontend_material: the material without the target, of which a kernel knows
    nothing before the passes.
    """

    material: bytes
    objects: tuple[Any, ...]
    numbers: Mapping[int, int]
    trees: tuple[tuple[Node, Any], ...]
    functions: tuple[tuple[Any, TextOfFunction], ...]
    unknown: Mapping[int, str]
    reach: Mapping[int, Iterable[int]]
    roots: frozenset[int]
    alive: tuple[Any, ...] = ()
    frontend_material: bytes = b""

    def reached(self, read: Iterable[int]) -> str | None:
        """Return why a kernel must not be kept whose frontend read these objects, given by identity; else None."""
        waiting, seen = [*self.roots, *read], set[int]()
        while self.unknown and waiting:
            found = waiting.pop()
            if found in seen:
                continue
            seen.add(found)
            if found in self.unknown:
                return self.unknown[found]
            waiting += self.reach.get(found, ())
        return None


class Walk:
    """One walk. Functions are looked at in order of appearance, members when no function is left."""

    def __init__(self, config: Any) -> None:
        self.config = config
        self.records: list[str] = []
        self.numbers: dict[int, int] = {}
        self.objects: list[Any] = []
        self.alive: list[Any] = []
        self.trees: dict[Node, tuple[int, Any]] = {}
        self.names: set[str] = set()
        self.run_names: set[str] = set()
        """Those that occur in what Python runs, where nobody sees what is read."""
        self.pending: deque[tuple[Any, bool]] = deque()
        self.holders: list[Holder] = []
        self.held: dict[int, Holder] = {}
        self.functions: list[tuple[Any, TextOfFunction]] = []
        self.count = 0
        self.unknown: dict[int, str] = {}
        self.reach: dict[int, set[int]] = {}
        self.member_reach: list[tuple[int, str, int]] = []
        self.roots: set[int] = set()
        self.sights: dict[int, Mapping[str, Any]] = {}
        """Globals of functions that kernels build: their names for nodes of trees appear in texts."""
        self.oriented: list[Any] = []
        self.also_run: set[int] = set()
        self.path = ""
        self.native = False
        """Whether Python's own code reads what is being described, not a kernel's."""
        self.owner: Any = None
        """What the object that is being described was found in, or itself."""

    def finish(self) -> Fingerprint:
        """Go on until nothing new appears; return what was found. Raises: Undescribable."""
        while True:
            while self.pending:
                self._look_at(*self.pending.popleft())
            if not self._members():
                break
        describe_sight(self)
        for owner, name, value in self.member_reach:
            if name in self.run_names:
                self.reach.setdefault(owner, set()).add(value)
        return Fingerprint(
            "\n".join(self.records).encode("utf-8", "surrogatepass"),
            tuple(self.objects),
            self.numbers,
            tuple((top, owner) for top, (_, owner) in self.trees.items()),
            tuple(self.functions),
            self.unknown,
            self.reach,
            frozenset(self.roots),
            tuple(self.alive),
        )

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
        outer = self.path, self.owner, self.native
        self.path, self.owner, self.native = path, value if owner is None else owner, owner is not None
        self.alive.append(value)
        if owner is not None:
            self.touch(value)
            self.owner = value
        self.record(f"{label or path}={self.of(value)}")
        self.path, self.owner, self.native = outer

    def of(self, value: Any) -> str:
        """Return a description of a value; what it holds may be described later, under its number."""
        return describe.describe(self, value)

    def inside(self, owner: Any, values: Iterable[Any]) -> list[str]:
        """Return descriptions of what an object holds."""
        outer, self.owner = self.owner, owner
        found = [describe.describe(self, value) for value in values]
        self.owner = outer
        return found

    def cannot(self, value: Any, why: str = "") -> str:
        """Note that a value has no description; return what stands for it."""
        self.touch(value)
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        name = getattr(value, "__qualname__", "")
        shown = f"{getattr(value, '__module__', '')}.{name}" if isinstance(name, str) and name else f"a {kind}"
        self.alive.append(value)
        self.unknown[id(value)] = f"`{self.path}` is {why or f'{shown}, which may be something else in the next run'}"
        return f"unknown {kind}"

    # --- functions

    def function(self, value: Any, runs: bool) -> str:
        """Return the number of a function, which is looked at later. runs: Python runs it; else kernels build it."""
        number, is_new = self.number(value)
        if is_new:
            self.pending.append((value, runs))
        return f"{'run' if runs else 'function'}#{number}"

    def runs_too(self, value: Any) -> None:
        """Look at a function that kernels build also as one that Python runs."""
        if id(value) not in self.also_run:
            self.also_run.add(id(value))
            self.pending.append((value, True))

    def _look_at(self, function: Any, runs: bool) -> None:
        outer, self.owner, self.path = self.owner, function, function.__qualname__
        self.count += 1
        if runs and self.count > MAX_FUNCTIONS:
            self.cannot(function, "called by more functions than are looked at")
        elif runs:
            self._run(function)
        else:
            self._build(function)
        self.owner = outer

    def _build(self, function: Any) -> None:
        """Record a function that kernels build, and what its text names."""
        own = definition_of(function).function
        found = _remembered(own)
        if found.computed or found.names & REFLECTION:
            raise Undescribable(f"`{own.__qualname__}` reads members by names that are not in its text")
        self.functions.append((own, found))
        self.names |= found.names
        self.sights.setdefault(id(own.__globals__), own.__globals__)
        prefix = f"function#{self.numbers[id(function)]}"
        self.record(f"{prefix} {own.__qualname__!r}")
        self.record("\n".join(found.lines))
        self.record(found.constants)
        self._signature(prefix, own, None)
        code = own.__code__
        parameters = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        roots: dict[str, Any] = {}
        for chain in found.chains:
            root = chain[0]
            if root not in roots:
                value = roots[root] = MISSING if root in parameters else _outer(own, root)
                if value is not MISSING and not isinstance(value, types.ModuleType):
                    self.named(root, value, label=f"{prefix}.{root}")
            if isinstance(roots[root], types.ModuleType):
                self._chain(prefix, roots[root], chain)

    def _chain(self, prefix: str, module: types.ModuleType, chain: tuple[str, ...]) -> None:
        """Record what a dotted name that begins with a module means."""
        value: Any = module
        for position, name in enumerate(chain[1:], 2):
            path = ".".join(chain[:position])
            value = describe.member_of_module(self, value, name)
            if value is MISSING:
                self.record(f"{prefix}.{path} is missing")
                return
            if not isinstance(value, types.ModuleType):
                self.named(path, value, label=f"{prefix}.{path}")
                return
        self.named(".".join(chain), value, label=f"{prefix}.{'.'.join(chain)}")

    def _run(self, function: Any) -> None:
        """Record a function that Python runs while a kernel is compiled, and what it reads."""
        found = code_of(function)
        if found.imports or found.names & REFLECTION:
            self.cannot(function, "a function that imports, or reads members by names that are not in its text")
            return
        self.names |= found.names
        self.run_names |= found.names
        prefix = f"run#{self.numbers[id(function)]}"
        self.record(f"{prefix} {function.__qualname__!r}")
        self.record(found.code)
        self._signature(prefix, function, function)
        for name in found.outer:
            value = _outer(function, name)
            if value is not MISSING:
                self.named(name, value, function, f"{prefix}.{name}")

    def _signature(self, prefix: str, function: Any, owner: Any) -> None:
        """Record what belongs to a function beside its text. owner: itself, if Python runs it."""
        found = {f"{prefix}:{name}": value for name, value in function.__annotations__.items()}
        found[f"{prefix} defaults"], found[f"{prefix} keywords"] = function.__defaults__, function.__kwdefaults__
        for name, value in found.items():
            if value is not None:
                self.roots.add(id(value))
                self.named(name, value, owner)
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            value = _content(cell)
            if value is not MISSING:
                self.named(name, value, owner, f"{prefix} encloses {name}")

    # --- members

    def hold(
        self, value: Any, items: Callable[[], Mapping[str, Any]], is_class: bool = False, makes: bool = False
    ) -> None:
        """Describe the members of a numbered object as their names occur."""
        holder = self.held.get(id(value))
        if holder is None:
            label = f"#{self.numbers[id(value)]}"
            holder = self.held[id(value)] = Holder(value, label, self.path, items, is_class)
            self.holders.append(holder)
        holder.makes = holder.makes or makes

    def _members(self) -> bool:
        """Record members whose names have occurred since; tell whether there were any."""
        found = False
        for holder in self.holders:
            members = holder.items()
            for name in sorted(
                name for name in members if name not in holder.done and self._wants(holder, name, members)
            ):
                holder.done.add(name)
                found = True
                self._member(holder, name, members[name])
        return found

    def _member(self, holder: Holder, name: str, value: Any) -> None:
        self.member_reach.append((id(holder.value), name, id(value)))
        unasked = name[:2] == "__" or (hasattr(type(value), "__get__") and not isinstance(value, READ_AS_THEY_ARE))
        owner = holder.value if holder.is_class and unasked else None
        self.named(f"{holder.path}.{name}", value, owner, f"{holder.label}.{name}")

    def _wants(self, holder: Holder, name: str, members: Mapping[str, Any]) -> bool:
        if name in self.names or (name[:1] == "_" and name[max(0, name.find("__", 1)) :] in self.names):
            return True
        if not holder.is_class or name[:2] != "__" or not isinstance(members[name], RUNNING):
            return False
        return holder.makes or name not in CONSTRUCTORS


def _remembered(function: Any) -> TextOfFunction:
    """Return the text of a function, read once; the frontend too keeps what it parsed with the function."""
    found = function.__dict__.get(_TEXT)
    if found is None:
        try:
            found = function.__dict__[_TEXT] = text_of(function)
        except NoText as error:
            raise Undescribable(str(error)) from None
    return found  # type: ignore[no-any-return]


def _outer(function: Any, name: str) -> Any:
    """Return what a name means outside a function, `MISSING` if nothing."""
    code = function.__code__
    if name in code.co_freevars:
        value = _content(function.__closure__[code.co_freevars.index(name)])
        if value is not MISSING:
            return value
    found = function.__globals__.get(name, MISSING)
    return vars(builtins).get(name, MISSING) if found is MISSING else found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def fingerprint(specialization: Specialization, target: str, config: Any) -> Fingerprint:
    """Describe all that decides the text of a specialization. Raises: Undescribable."""
    walk = Walk(config)
    definition = specialization.definition
    walk.record(describe.environment(specialization))
    walk.function(definition.function, runs=False)
    for leaf in definition.leaves:
        walk.roots.add(id(leaf.annotation))
        walk.named(f"parameter {leaf.name}", leaf.annotation)
    walk.named("returns", definition.returns)
    for position, argument in enumerate(specialization.arguments):
        if isinstance(argument, TemplateArgument):
            walk.roots.add(id(argument.value))
            walk.named(f"argument {position}", argument.value)
        else:
            walk.record(f"argument {position}: {argument_text(walk, argument)}")
    found = walk.finish()
    device = f"{target}\n{stable_text(specialization.capabilities)}\n"
    return replace(found, material=device.encode() + found.material, frontend_material=found.material)
