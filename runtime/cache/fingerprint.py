"""The dependency walk: all that determines a kernel's source, found without the frontend, as material of a cache key.

In: a specialization. Out: `Fingerprint`: the sources of the kernel and of all functions it may call, and a description
of every Python object that these name: globals, closures, members of objects and classes. The walk runs no code of the
program. It looks up names wherever they occur, so it describes more than the frontend reads.

Only members whose names occur in the call graph are described; the walk repeats until no new names appear. Objects are
numbered by first appearance: so one array named twice differs from two equal ones, and an entry can refer to an array
by its number.

An object without a description (a clock, a window) is unknown, and the material says so. This is correct as long as the
frontend does not read the object: until then it does the same in every process. A kernel whose compilation reads an
unknown object is not cached. The frontend's reads are recorded (`Compilation.dependencies`). Reads of functions that
Python runs are not, so all that such a function can reach counts as read: `reached` computes this.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...transpiler.frontend.source.definition import DERIVATIVE_MEMBERS, definition_of
from ...transpiler.frontend.source.specialization import Specialization, TemplateArgument
from ...transpiler.ir.snodes import Node
from ...transpiler.lang.decorators import Func
from ...transpiler.lazy_dataclasses import dataclass
from .builtin_names import name_set
from .describe import describe, environment, fixed_description, member_of_module, switches_text
from .describe_own import argument as argument_text
from .describe_own import describe_sight, holds_array, is_array
from .function_source import FunctionSource, SourceUnavailable, bytecode_of, source_of
from .set_order import has_only_membership_tests
from .walk import MISSING, Holder, Undescribable, Walk

MAX_FUNCTIONS = 500
"""Number of functions of a call graph that are visited; the rest is unknown."""
CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__del__"})
"""Methods that run when an object is made, and not for an existing object."""
CLASS_OF = frozenset({"type", "__class__"})
"""Names that give the class of an object, which may then be called."""
HIDDEN = name_set("""
    __dict__ __getattribute__ __globals__ __closure__ __subclasses__ __builtins__ __code__ __getstate__ __reduce__
    __reduce_ex__ __dir__ __module__ __traceback__ tb_frame tb_lineno f_lineno f_locals f_globals gi_frame
""")
REFLECTION = HIDDEN | {"get_num_compiled_functions"}
"""Members that give a program access to what no source names, or to what each launch changes."""
PATTERNS = "__match_args__"
"""The member with the names of a class's positional patterns: `case Point(x, y)`."""
OF_ENUMERATIONS = "_missing_"
"""The method that an enumeration calls for a missing value."""
SHOWN_TO_NUMPY = frozenset({"__array_interface__", "__array_struct__", "__array_priority__"})
"""Members of objects that NumPy reads."""
NOT_IMPLICIT = name_set("""
    __module__ __doc__ __dict__ __weakref__ __slots__ __qualname__ __name__ __annotations__ __annotate__
    __annotate_func__ __annotations_cache__ __dataclass_fields__ __dataclass_params__ __abstractmethods__
    __orig_bases__ __parameters__ __type_params__ __firstlineno__ __static_attributes__ __classdictcell__
""")
"""Members of classes that are read only by name."""
PLAIN_MEMBERS = frozenset({types.FunctionType, Func, types.MemberDescriptorType, staticmethod, classmethod})
"""Members of classes that an attribute returns unchanged or bound; other descriptors may return anything."""
OF_SHAPES = frozenset({"shape", "n", "m", "dtype", "element_shape", "name", "snode", "get_shape"})
"""Members of arrays that do not depend on their contents."""
_TEXT = "_shadesmith_text"


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """All that determines a kernel's source.

    source_key: equal keys mean equal emitted sources.
    objects: by number.
    trees: (top, owner of the memory) by number.
    functions: those that kernels build, with their sources, in order.
    unknown: reasons for objects without a description, by the identity of the object or its container.
    frontend_key: the source key without the target, on which a kernel does not depend before the passes.
    """

    source_key: bytes
    objects: tuple[Any, ...]
    numbers: Mapping[int, int]
    trees: tuple[tuple[Node, Any], ...]
    functions: tuple[tuple[Any, FunctionSource], ...]
    unknown: Mapping[int, str]
    reach: Mapping[int, Iterable[int]]
    roots: frozenset[int]
    alive: tuple[Any, ...]
    frontend_key: bytes

    def reached(self, read: Iterable[int]) -> str | None:
        """Return why a kernel must not be cached if the frontend read these objects, given by identity; else None."""
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


# --- where the walk goes


def _finish(walk: Walk, device: str) -> Fingerprint:
    """Continue until nothing new appears; return the fingerprint. device: the key material of the target.

    Raises: Undescribable.
    """
    while True:
        while walk.pending:
            _look_at(walk, *walk.pending.popleft())
        if not _members(walk):
            break
    describe_sight(walk)
    for owner, name, value in walk.member_reach:
        if name in walk.run_names:
            walk.reach.setdefault(owner, set()).add(value)
    for runner, function, names in walk.running:
        _forbid_contents(walk, runner, function, names)
    for identity, set_names in walk.sets.items():
        if has_only_membership_tests(set_names, _sources(walk)):
            del walk.unknown[identity]
    material = "\n".join(walk.records).encode("utf-8", "surrogatepass")
    return Fingerprint(
        device.encode() + material,
        tuple(walk.objects),
        walk.numbers,
        tuple((top, owner) for top, (_, owner) in walk.trees.items()),
        tuple(walk.functions),
        walk.unknown,
        walk.reach,
        frozenset(walk.roots),
        tuple(walk.alive),
        material,
    )


def _sources(walk: Walk) -> Iterator[str]:
    """Yield the sources of all functions."""
    for _, source in walk.functions:
        yield "\n".join(source.lines)
    for _, function, _ in walk.running:
        try:
            yield "\n".join(_source_of(function).lines)
        except Undescribable:
            yield " ".join(function.__code__.co_names)


def _look_at(walk: Walk, function: Any, runs: bool, owner: Any) -> None:
    outer, walk.owner, walk.path = walk.owner, owner, function.__qualname__
    walk.count += 1
    if runs and walk.count > MAX_FUNCTIONS:
        walk.forbid(owner, f"`{function.__qualname__}` exceeds the limit of {MAX_FUNCTIONS} functions in a call graph")
    elif runs:
        _run(walk, function, owner)
    else:
        _build(walk, function)
    walk.owner = outer


def _build(walk: Walk, function: Any) -> None:
    """Record a function that kernels build, and the objects that its source names."""
    definition = definition_of(function)
    own = definition.function
    found = _source_of(own)
    if found.computed or found.names & REFLECTION:
        raise Undescribable(f"`{own.__qualname__}` reads members by names that are not in its source")
    walk.functions.append((own, found))
    walk.names |= found.names
    walk.sights.setdefault(id(own.__globals__), own.__globals__)
    prefix = f"function#{walk.numbers[id(function)]}"
    walk.record(f"{prefix} {own.__qualname__!r}")
    walk.record("\n".join(found.lines))
    walk.record(found.constants)
    _signature(walk, prefix, own, definition.annotations, None)
    code = own.__code__
    parameters = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    roots: dict[str, Any] = {}
    for chain in found.chains:
        root = chain[0]
        if root not in roots:
            value = roots[root] = MISSING if root in parameters else _outer(own, root)
            if value is not MISSING and type(value) is not types.ModuleType:
                walk.named(root, value, label=f"{prefix}.{root}")
        if type(roots[root]) is types.ModuleType:
            _chain(walk, prefix, roots[root], chain)


def _chain(walk: Walk, prefix: str, module: types.ModuleType, chain: tuple[str, ...]) -> None:
    """Record the value of a dotted name that starts with a module."""
    value: Any = module
    for position, name in enumerate(chain[1:], 2):
        path = ".".join(chain[:position])
        value = member_of_module(walk, value, name)
        if value is MISSING:
            walk.record(f"{prefix}.{path} is missing")
            return
        if type(value) is not types.ModuleType:
            description = fixed_description(value, native=False)
            if description is None:
                walk.named(path, value, label=f"{prefix}.{path}")
            else:
                walk.record(f"{prefix}.{path}={description}")
            return
    walk.named(".".join(chain), value, label=f"{prefix}.{'.'.join(chain)}")


def _run(walk: Walk, function: Any, owner: Any) -> None:
    """Record a function that Python runs during compilation, and the objects that it reads."""
    found = bytecode_of(function)
    if found.imports or found.formats or found.iterates_over_set or found.names & REFLECTION:
        why = "imports, iterates over a set, or reads members by names that are not in its source"
        walk.forbid(owner, f"`{function.__qualname__}` {why}, and Python runs it")
        return
    walk.running.append((owner, function, found.names))
    walk.names |= found.names
    walk.run_names |= found.names
    walk.matches = walk.matches or found.matches
    prefix = f"run#{walk.numbers[id(function)]}"
    walk.record(f"{prefix} {function.__qualname__!r} {function.__name__!r} {function.__doc__!r}")
    walk.record(found.code)
    _signature(walk, prefix, function, function.__annotations__, owner)
    for name in found.outer:
        value = _outer(function, name, function.__builtins__)
        if value is hash and function.__name__ == "__hash__":  # affects only the order of sets
            continue
        if value is not MISSING:
            is_seen = is_array(value) and not _may_read(function, name)
            walk.named(name, value, None if is_seen else owner, f"{prefix}.{name}")


def _forbid_contents(walk: Walk, runner: Any, function: Any, names: frozenset[str]) -> None:
    """Record where Python may read the contents of arrays, which are not part of a key."""
    waiting, seen = [id(runner)], set[int]()
    while waiting:
        found = waiting.pop()
        if found not in seen:
            seen.add(found)
            waiting += walk.reach.get(found, ())
    members = [name for name in sorted(names & walk.array_members) if _may_read(function, name)]
    if members or seen & walk.arrays:
        what = f"the contents of `{members[0]}`" if members else "the contents of fields"
        walk.forbid(runner, f"`{function.__qualname__}` may read {what} while a kernel is compiled")


def _may_read(function: Any, name: str) -> bool:
    """Return whether a function reads more of an array of this name than its shape and type."""
    try:
        chains = _source_of(function).chains
    except Undescribable:
        return True
    uses = [chain[k + 1 : k + 2] for chain in chains for k, part in enumerate(chain) if part == name]
    return not all(after and after[0] in OF_SHAPES for after in uses)


def _signature(walk: Walk, prefix: str, function: Any, annotations: Mapping[str, Any], owner: Any) -> None:
    """Record what belongs to a function besides its source. owner: itself, if Python runs it."""
    found = {f"{prefix}:{name}": value for name, value in annotations.items()}
    found[f"{prefix} defaults"], found[f"{prefix} keywords"] = function.__defaults__, function.__kwdefaults__
    for name, value in found.items():
        if value is not None:
            walk.roots.add(id(value))
            walk.named(name, value, owner)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        value = _content(cell)
        if value is not MISSING:
            walk.named(name, value, owner, f"{prefix} encloses {name}")


# --- members


def _members(walk: Walk) -> bool:
    """Record members whose names have occurred since the last call; return whether there were any."""
    found = False
    for holder in walk.holders:
        members = holder.items()
        for name in sorted(name for name in members if name not in holder.done and _wants(walk, holder, name, members)):
            holder.done.add(name)
            found = True
            _member(walk, holder, name, members[name])
    return found


def _member(walk: Walk, holder: Holder, name: str, value: Any) -> None:
    if holds_array(value):
        walk.array_members.add(name)
    if name == PATTERNS:
        found = {item for item in value if isinstance(item, str)}
        walk.names |= found
        walk.run_names |= found
    walk.member_reach.append((id(holder.value), name, id(value)))
    is_implicit = name[:2] == "__" or (hasattr(type(value), "__get__") and type(value) not in PLAIN_MEMBERS)
    owner = holder.value if holder.is_class and is_implicit else None
    walk.named(f"{holder.path}.{name}", value, owner, f"{holder.label}.{name}")


def _wants(walk: Walk, holder: Holder, name: str, members: Mapping[str, Any]) -> bool:
    if name in walk.names or (name[:1] == "_" and name[max(0, name.find("__", 1)) :] in walk.names):
        return True
    if name[:2] != "__":
        return name == OF_ENUMERATIONS and holder.is_class
    if name in NOT_IMPLICIT or not holder.is_class:
        return name in SHOWN_TO_NUMPY
    if name in CONSTRUCTORS:
        return holder.makes or walk.makes or not CLASS_OF.isdisjoint(walk.names)
    return walk.matches or name != PATTERNS


def _source_of(function: Any) -> FunctionSource:
    """Return the source of a function, which is cached on the function, as the frontend's parse result is."""
    found = function.__dict__.get(_TEXT)
    if found is None:
        try:
            found = function.__dict__[_TEXT] = source_of(function)
        except SourceUnavailable as error:
            raise Undescribable(str(error)) from None
    return found  # type: ignore[no-any-return]


def _outer(function: Any, name: str, otherwise: Mapping[str, Any] = vars(builtins)) -> Any:
    """Return the value of a name outside a function, `MISSING` if there is none."""
    code = function.__code__
    if name in code.co_freevars:
        value = _content(function.__closure__[code.co_freevars.index(name)])
        if value is not MISSING:
            return value
    found = function.__globals__.get(name, MISSING)
    return otherwise.get(name, MISSING) if found is MISSING else found


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not assigned yet
        return MISSING


def _fingerprint(specialization: Specialization, target: str, config: Any) -> Fingerprint:
    walk = Walk(config, describe)
    definition = specialization.definition
    walk.record(environment(specialization))
    walk.function(definition.function, runs=False)
    if definition.derivative:
        walk.names |= DERIVATIVE_MEMBERS[definition.derivative]  # of all arrays that it reaches
    for leaf in definition.flat_parameters:
        walk.roots.add(id(leaf.annotation))
        walk.named(f"parameter {leaf.name}", leaf.annotation)
    walk.named("returns", definition.returns)
    for position, argument in enumerate(specialization.arguments):
        if isinstance(argument, TemplateArgument):
            walk.roots.add(id(argument.value))
            walk.named(f"argument {position}", argument.value)
        else:
            walk.record(f"argument {position}: {argument_text(walk, argument)}")
    return _finish(walk, f"{target}\n{switches_text(specialization.capabilities)}\n")


def fingerprint(specialization: Specialization, target: str, config: Any) -> Fingerprint:
    """Describe all that determines the source of a specialization. Raises: Undescribable."""
    try:
        return _fingerprint(specialization, target, config)
    except Undescribable:
        raise
    except Exception as error:  # objects of programs may raise anything when they are inspected
        reason = f"what it reads cannot be inspected: {type(error).__name__}: {error}"
        raise Undescribable(reason) from error
