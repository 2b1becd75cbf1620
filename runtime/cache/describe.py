"""Descriptions of Python objects for keys: equal in every process in which the objects mean the same to a kernel.

In: an object and the dependency walk that reached it. Out: a string without addresses. Atoms and tuples are described
by value, all other objects by a number in order of first appearance. An object that is neither plain data nor code nor
shadesmith's own has no description (`Walk.cannot`).
"""

from __future__ import annotations

import abc
import collections.abc
import enum
import functools
import numbers
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol

import numpy as np

from ...transpiler.errors import PACKAGE
from ...transpiler.frontend.source.specialization import Specialization, stable_text
from ...transpiler.lang.decorators import BoundFunc, Func
from ...transpiler.lang.matrix import Matrix
from ...transpiler.options import Capabilities, CompileOptions
from ..arrays.member_names import plain_class
from ..public_names import NAMES as LOADED_ON_DEMAND
from . import describe_own
from .builtin_names import PURE_MODULES, READS_CONFIG, fixed_name, is_of_library, is_own, library_of
from .cached_results import reads_data
from .describe_own import contents, holds_array, own_attributes
from .walk import MISSING, Walk

ATOMS = frozenset({int, float, bool, str, bytes, complex, type(None), type(...), type(NotImplemented)})
NUMBERS = frozenset({int, float, bool, complex})
PLAIN_BASES = (int, float, str, bytes, complex, tuple, list, dict, set, frozenset)
WITHOUT_MEMBERS = (object, abc.ABC, Generic, Protocol, types.SimpleNamespace)
"""Base classes from Python that add only members to an object."""
INTERFACES = ("collections.abc", "numbers")
"""Modules whose classes are such base classes."""
WRITTEN_IN_C = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)
IMPLICIT = frozenset({"__dict__", "__weakref__"})
METACLASSES = frozenset({type, abc.ABCMeta, enum.EnumMeta})
TUPLE_GETTER = "_tuplegetter"
READ_BY_NAME = (getattr, hasattr)
FORMATS = ("format", "format_map")
READS_BY_FORMAT = "a method that reads members by names that are not in the source"
NAMESPACES = {("types", "SimpleNamespace"), ("argparse", "Namespace")}
"""Classes of Python whose objects consist of their members."""
SINGLETONS = {("dataclasses", "_MISSING_TYPE"), ("dataclasses", "_HAS_DEFAULT_FACTORY_CLASS")}
"""Classes of Python with one object each, which the name of the class describes."""
LIMITS = frozenset({"finfo", "iinfo"})
"""Classes of NumPy whose objects describe the limits of a type."""
GUARDS = ("dataclasses", "reprlib")
"""Modules whose wrappers of functions only prevent recursion of `__repr__`."""


def environment(specialization: Specialization) -> str:
    """Return what determines every kernel besides its source: options, and the version of Python."""
    definition = specialization.definition
    python = _python(sys.version_info[:3])
    return "\n".join([python, str(definition.is_method), definition.name, switches_text(specialization.options)])


@functools.lru_cache
def _python(version: tuple[int, ...]) -> str:
    return f"{sys.implementation.name} {'.'.join(map(str, version))}"


def switches_text(switches: CompileOptions | Capabilities) -> str:
    """Return `stable_text`, cached for the options of a session."""
    found = _SWITCHES.get(id(switches))
    if found is None or found[0] is not switches:
        if len(_SWITCHES) >= MAX_SWITCHES:
            _SWITCHES.clear()
        found = _SWITCHES[id(switches)] = switches, stable_text(switches)
    return found[1]


_SWITCHES: dict[int, tuple[Any, str]] = {}
MAX_SWITCHES = 64


def describe(walk: Walk, value: Any) -> str:
    """Return a description of a value."""
    kind = type(value)
    if kind in ATOMS:
        return repr(value)
    known = fixed_description(value, walk.native)
    if known is not None:
        return known
    handler = HANDLERS.get(kind) or HANDLERS.get(plain_class(kind))
    if handler is not None:
        return handler(walk, value)
    if issubclass(kind, type):
        return describe_class(walk, value, makes=True)
    if issubclass(kind, enum.Enum):
        return _enum(walk, value)
    if issubclass(kind, types.ModuleType):
        return walk.cannot(value)
    if not is_of_library(kind):
        return _instance(walk, value)
    return describe_own.describe(walk, value) if is_own(kind.__module__) else _library_object(walk, value)


def _fixed(walk: Walk, value: Any) -> str | None:
    """Return `fixed_name`, cached for each object."""
    name = fixed_name(value, not walk.native)
    if name is not None:
        _FIXED[walk.native][id(value)] = value, name
    return name


def fixed_description(value: Any, native: bool) -> str | None:
    """Return the cached description of a library's object, None if there is none."""
    found = _FIXED[native].get(id(value))
    return found[1] if found is not None and found[0] is value else None


_FIXED: dict[bool, dict[int, tuple[Any, str]]] = {False: {}, True: {}}
"""Objects of libraries that are described by name; the key: whether a function run by Python reads them."""


def _enum(walk: Walk, value: enum.Enum) -> str:
    _, is_new = walk.number(value)
    if is_new:
        walk.defer_members(value, lambda: members_of(value))
    return f"{describe_class(walk, type(value), makes=False)}.{value.name} {value.value!r}"


def _library_object(walk: Walk, value: Any) -> str:
    """Describe an object whose class is Python's or NumPy's."""
    kind = type(value)
    if isinstance(value, np.generic):
        return f"{kind.__name__} {value.dtype!r} {value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return f"dtype {value!r} {value.metadata and walk.of(dict(value.metadata))}"
    if kind.__name__ in LIMITS and library_of(kind.__module__) == "numpy":
        return f"{kind.__name__} {value.dtype!r}"
    if (kind.__module__, kind.__name__) in NAMESPACES:
        number, is_new = walk.number(value)
        if is_new:
            walk.defer_members(value, lambda: vars(value))
        return f"names#{number}"
    if kind is type(functools.lru_cache(len)):
        return _cached(walk, value)
    if kind.__name__ == TUPLE_GETTER:
        return repr(value)
    if (kind.__module__, kind.__name__) in SINGLETONS:
        return kind.__name__
    if kind.__module__ in ("typing", "types") and hasattr(value, "__args__"):
        parts = (getattr(value, "__origin__", None), *value.__args__, getattr(value, "__metadata__", None))
        return f"generic {', '.join(walk.inside(value, parts))}"
    return fixed_name(value, not walk.native) or walk.cannot(value)


def _cached(walk: Walk, value: Any) -> str:
    """Describe a function with cached results, which may be older than the data it reads now."""
    number, is_new = walk.number(value)
    if is_new:
        walk.defer_members(value, lambda: vars(value))
        if value.cache_info().currsize and reads_data(value):
            walk.cannot(value, "a function with cached results, which may be older than the data it reads")
    return f"cached#{number} {walk.inside(value, [value.__wrapped__])[0]}"


# --- data -----------------------------------------------------------------------------------------------------------


def _tuple(walk: Walk, value: tuple[Any, ...]) -> str:
    if ATOMS.issuperset(map(type, value)):
        return repr(value)
    return f"({', '.join(describe(walk, item) for item in value)},)"


def _sequence(walk: Walk, value: Any) -> str:
    number, is_new = walk.number(value)
    name = f"{type(value).__name__}#{number}"
    if not is_new:
        return name
    if ATOMS.issuperset(map(type, value)):
        return f"{name}{list(value)!r}"
    return f"{name}[{', '.join(walk.inside(value, value))}]"


def _set(walk: Walk, value: Any) -> str:
    number, is_new = walk.number(value)
    name = f"{type(value).__name__}#{number}"
    if NUMBERS.issuperset(map(type, value)):  # their order is the same in every process
        return f"{name}{list(value)}"
    if len(value) > 1:
        walk.sets.setdefault(id(value), set()).add(walk.path.rpartition(".")[2])
        walk.cannot(value, "a set, whose order may differ in the next run")
    return f"{name}{{{', '.join(sorted(walk.inside(value, value)))}}}" if is_new else name


def _mapping(walk: Walk, value: Mapping[Any, Any]) -> str:
    number, is_new = walk.number(value)
    name = f"{type(value).__name__}#{number}"
    if not is_new:
        return name
    factory = walk.inside(value, [value.default_factory]) if isinstance(value, defaultdict) else []
    descriptions = walk.inside(value, [item for pair in value.items() for item in pair])
    pairs = (f"{key}: {item}" for key, item in zip(descriptions[::2], descriptions[1::2], strict=True))
    return f"{name}{{{', '.join([*factory, *pairs])}}}"


def _range(walk: Walk, value: range) -> str:
    return repr(value)


def _slice(walk: Walk, value: slice) -> str:
    return f"slice({', '.join(walk.inside(value, (value.start, value.stop, value.step)))})"


def _array(walk: Walk, value: np.ndarray[Any, Any]) -> str:
    number, is_new = walk.number(value)
    name = f"array#{number}"
    return f"{name} {contents(walk, value)}" if is_new else name


# --- code -----------------------------------------------------------------------------------------------------------


def _function(walk: Walk, value: types.FunctionType) -> str:
    if not is_of_library(value):
        return walk.function(value, runs=True)
    home = value.__globals__["__name__"]
    if value.__name__ in READS_CONFIG and is_own(home):
        describe_own.describe_config(walk)
    if home in GUARDS and hasattr(value, "__wrapped__"):
        return describe(walk, value.__wrapped__)
    name = _fixed(walk, value) if value.__name__ not in READS_CONFIG else fixed_name(value, not walk.native)
    if name is not None or home not in PURE_MODULES:
        return name or walk.cannot(value)
    cells = walk.inside(value, (cell.cell_contents for cell in value.__closure__ or ()))
    return f"{home} {value.__code__.co_name} {value.__code__.co_firstlineno}({', '.join(cells)})"  # of a named tuple


def _builtin(walk: Walk, value: types.BuiltinFunctionType) -> str:
    owner = value.__self__
    if value in READ_BY_NAME and walk.path.rpartition(".")[2] != value.__name__:
        return walk.cannot(value, f"another name for {value.__name__}, whose uses the source does not show")
    if owner is None or isinstance(owner, types.ModuleType):
        return fixed_name(value, not walk.native) or walk.cannot(value)
    if value.__name__ in FORMATS:
        return walk.cannot(value, READS_BY_FORMAT)
    return f"method {value.__name__} of {walk.inside(value, [owner])[0]}"


def _method(walk: Walk, value: types.MethodType) -> str:
    return f"method({', '.join(walk.inside(value, (value.__func__, value.__self__)))})"


def _partial(walk: Walk, value: functools.partial[Any]) -> str:
    number, is_new = walk.number(value)
    if is_new:
        walk.defer_members(value, lambda: vars(value))
    if holds_array((value.args, value.keywords)):
        walk.cannot(value, "a function that is given a field while the kernel is compiled")
    return f"partial#{number}({', '.join(walk.inside(value, (value.func, value.args, value.keywords)))})"


def _property(walk: Walk, value: property) -> str:
    return f"property({', '.join(walk.inside(value, (value.fget, value.fset, value.fdel)))})"


def _cached_property(walk: Walk, value: functools.cached_property[Any]) -> str:
    return f"cached property {walk.inside(value, [value.func])[0]}"


def _wrapped(walk: Walk, value: Any) -> str:
    walk.makes = walk.makes or isinstance(value, classmethod)  # a class method may call its class
    return f"{type(value).__name__} {walk.inside(value, [value.__func__])[0]}"


def _slot(walk: Walk, value: Any) -> str:
    if value.__name__ in FORMATS and value.__objclass__ is str:
        return walk.cannot(value, READS_BY_FORMAT)
    return f"slot {value.__objclass__.__qualname__}.{value.__name__}"


def _func(walk: Walk, value: Func) -> str:
    if is_own(value.function.__module__) and is_of_library(
        value.function
    ):  # shadesmith's sources are part of every key
        name = f"own {value.function.__module__}.{value.function.__qualname__}"
        _FIXED[walk.native][id(value)] = value, name
        return name
    walk.number(value)
    outer, walk.owner = walk.owner, value
    text = walk.function(value.function, runs=False)
    walk.owner = outer
    if value.in_python:
        running = walk.also_runs(value.function)
        reader = walk.reader if walk.owner is value else walk.owner
        if reader is not None:
            walk.reach.setdefault(id(reader), set()).add(id(running))
    attributes = own_attributes(value)
    if attributes:
        walk.defer_members(value, lambda: attributes)
    inline = {True: "inlined ", False: "called ", None: ""}[value.inline] + (
        str(value.snippets) if value.snippets else ""
    )
    return f"{'real ' if value.is_real else ''}{'python ' if value.in_python else ''}{inline}{text}"


def _bound_func(walk: Walk, value: BoundFunc) -> str:
    return f"bound({', '.join(walk.inside(value, (value.func, value.instance)))})"


def _module(walk: Walk, value: types.ModuleType) -> str:
    _, is_new = walk.number(value)
    if is_new and value.__name__ == PACKAGE:
        walk.defer_members(value, lambda: {**vars(value), "cfg": walk.config})
    elif is_new:
        walk.defer_members(value, lambda: vars(value))
        getter = vars(value).get("__getattr__")
        if isinstance(getter, types.FunctionType) and not is_of_library(getter):
            walk.named(f"{walk.path}.__getattr__", getter, value)
    return f"module {value.__name__}"


def member_of_module(walk: Walk, module: types.ModuleType, name: str) -> Any:
    """Return a member of a module, `MISSING` if there is none; shadesmith's modules load some on demand."""
    members = vars(module)
    if name in members and not (module.__name__ == PACKAGE and name in LOADED_ON_DEMAND):
        return members[name]
    if is_own(module.__name__):
        if name == "cfg":
            return walk.config
        return getattr(module, name, MISSING) if module.__name__ != PACKAGE else MISSING
    getter = members.get("__getattr__")
    if isinstance(getter, types.FunctionType):
        walk.roots.add(id(getter))
        walk.named(f"{module.__name__}.__getattr__", getter, getter)
    return MISSING


# --- classes and their objects ----------------------------------------------------------------------------------------


def describe_class(walk: Walk, value: type, makes: bool) -> str:
    """Describe a class and its base classes. makes: objects of it may be made, so constructors count."""
    if is_of_library(value):
        return _fixed(walk, value) or walk.cannot(value)
    in_c = any(_is_own_slot(value, name, member) for name, member in vars(value).items())
    if in_c or type(value) not in METACLASSES:
        return walk.cannot(value, "a class that is not written in Python")
    if _registered(value):
        return walk.cannot(value, f"a class with which `{_registered(value)[0].__qualname__}` is registered")
    number, is_new = walk.number(value)
    name = f"class#{number}"
    walk.defer_members(value, lambda: vars(value), is_class=True, makes=makes)
    outer, walk.owner = walk.owner, value
    bases = [describe_class(walk, base, makes) for base in value.__bases__]
    walk.owner = outer
    if not is_new:
        return name
    text = f"{name} {value.__qualname__!r} {value.__name__!r} {value.__dictoffset__}({', '.join(bases)})"
    if isinstance(value, enum.EnumMeta):
        members: dict[str, enum.Enum] = dict(value.__members__)
        return f"{text}{walk.inside(value, [*members, *(member.value for member in members.values())])}"
    return text + _interfaces(value)


def _registered(value: type) -> list[Any]:
    """Return the classes that were registered with an abstract class, which `isinstance` reads."""
    found: Any = getattr(abc, "_get_dump")(value)[0] if type(value) is abc.ABCMeta else ()  # noqa: B009 - Python's own
    return [other() for other in found if other() is not None]


def _interfaces(value: type) -> str:
    """Return the abstract classes of Python with which a class was registered."""
    return " ".join(base.__name__ for base in ABSTRACT if value in _registered(base))


ABSTRACT = [getattr(module, name) for module in (collections.abc, numbers) for name in module.__all__]


def _is_own_slot(kind: type, name: str, member: Any) -> bool:
    """Return whether a class defines a member in C, rather than taking it from another class."""
    return isinstance(member, WRITTEN_IN_C) and name not in IMPLICIT and member.__objclass__ is kind


def _instance(walk: Walk, value: Any) -> str:
    number, is_new = walk.number(value)
    name = f"object#{number}"
    if not is_new:
        return name
    kind = type(value)
    outer, walk.owner = walk.owner, value
    text = f"{name} of {describe_class(walk, kind, makes=False)}"
    walk.owner = outer
    if id(kind) in walk.unknown:
        return walk.cannot(value)
    walk.defer_members(value, lambda: members_of(value))
    base = next((base for base in PLAIN_BASES if issubclass(kind, base)), None)
    if base is not None:
        text += f" {_content(walk, value, base)}"
    other = next((base for base in kind.__mro__ if _may_hide(base)), None)
    if other is not None:
        walk.cannot(value, f"an object of a class that inherits from {other.__qualname__}")
    if hasattr(kind, "_data_oriented"):
        walk.oriented.append(value)
    extra = describe_own.content_of_base(walk, value)
    return f"{text} {extra}" if extra else text


def _may_hide(base: type) -> bool:
    """Return whether this base class may give its objects state that is no member."""
    if base in PLAIN_BASES or base in WITHOUT_MEMBERS or base.__module__ in INTERFACES or not is_of_library(base):
        return False
    return not is_own(base.__module__) or not issubclass(base, Matrix)


def _content(walk: Walk, value: Any, base: type) -> str:
    if base is dict:
        descriptions = walk.inside(value, [item for pair in dict.items(value) for item in pair])
        return f"{descriptions}"
    if base in (tuple, list, set, frozenset):
        descriptions = walk.inside(value, base.__iter__(value))
        return f"{descriptions if base in (tuple, list) else sorted(descriptions)}"
    shown: Any = base.__repr__
    return str(shown(value))


def members_of(value: Any) -> dict[str, Any]:
    """Return the members of an object itself, by name."""
    found = dict(getattr(value, "__dict__", ()))
    for kind in type(value).__mro__:
        for name, slot in vars(kind).items():
            if isinstance(slot, types.MemberDescriptorType) and name not in found:
                try:
                    found[name] = slot.__get__(value)
                except AttributeError:  # not set
                    continue
    return found


HANDLERS: dict[type, Callable[[Any, Any], str]] = {
    tuple: _tuple,
    list: _sequence,
    deque: _sequence,
    set: _set,
    frozenset: _set,
    dict: _mapping,
    OrderedDict: _mapping,
    defaultdict: _mapping,
    range: _range,
    slice: _slice,
    np.ndarray: _array,
    types.FunctionType: _function,
    types.BuiltinFunctionType: _builtin,
    types.MethodType: _method,
    types.ModuleType: _module,
    types.MemberDescriptorType: _slot,
    types.GetSetDescriptorType: _slot,
    types.WrapperDescriptorType: _slot,
    types.MethodDescriptorType: _slot,
    types.ClassMethodDescriptorType: _slot,
    functools.partial: _partial,
    property: _property,
    functools.cached_property: _cached_property,
    staticmethod: _wrapped,
    classmethod: _wrapped,
    Func: _func,
    BoundFunc: _bound_func,
    **describe_own.HANDLERS,
}
"""Functions that describe objects of exactly these classes."""
