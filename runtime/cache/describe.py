"""Descriptions of Python objects for keys: equal in every process where the objects mean the same to a kernel.

In: an object and the walk that met it. Out: a text without addresses. Atoms and tuples are written out, all else is
numbered with its first appearance. What is no plain data, no code and none of ours has no description (`Walk.cannot`).
"""

from __future__ import annotations

import enum
import functools
import sys
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...transpiler.errors import PACKAGE
from ...transpiler.frontend.specialization import Specialization, stable_text
from ...transpiler.lang.decorators import BoundFunc, Func
from ...transpiler.options import Capabilities, CompileOptions
from ..compat.lazy import NAMES as LOADED_ON_DEMAND
from . import describe_own
from .describe_own import contents, own_attributes
from .known import ASKS_CONFIG, fixed_name, is_own, is_standard, library_of
from .walk import MISSING, Walk

ATOMS = frozenset({int, float, bool, str, bytes, complex, type(None), type(...), type(NotImplemented)})
PLAIN_BASES = (int, float, str, bytes, complex, tuple, list, dict, set, frozenset)
WRITTEN_IN_C = (types.MethodDescriptorType, types.WrapperDescriptorType, types.GetSetDescriptorType)
IMPLICIT = frozenset({"__dict__", "__weakref__"})
METACLASSES = frozenset({"type", "ABCMeta", "EnumMeta", "EnumType"})
TUPLE_GETTER = "_tuplegetter"
READ_BY_NAME = (getattr, hasattr)
FORMATS = ("format", "format_map")
READS_BY_FORMAT = "a method that reads members by names that are not in the text"
GUARDS = ("dataclasses", "reprlib")
"""Modules whose wrappers of functions only keep `__repr__` from calling itself."""


def environment(specialization: Specialization) -> str:
    """Return what decides every kernel beside its text: options, and Python, which the frontend runs."""
    python = f"{sys.implementation.name} {'.'.join(map(str, sys.version_info[:3]))}"
    definition = specialization.definition
    return "\n".join([python, str(definition.is_method), definition.name, switches_text(specialization.options)])


def switches_text(switches: CompileOptions | Capabilities) -> str:
    """Return `stable_text`, made once for those of a session."""
    found = _TEXTS.get(id(switches))
    if found is None or found[0] is not switches:
        if len(_TEXTS) >= KEPT_TEXTS:
            _TEXTS.clear()
        found = _TEXTS[id(switches)] = switches, stable_text(switches)
    return found[1]


_TEXTS: dict[int, tuple[Any, str]] = {}
KEPT_TEXTS = 64


def describe(walk: Walk, value: Any) -> str:
    """Return a description of a value."""
    kind = type(value)
    if kind in ATOMS:
        return repr(value)
    handler = HANDLERS.get(kind)
    if handler is not None:
        return handler(walk, value)
    if isinstance(value, type):
        return describe_class(walk, value, makes=True)
    if isinstance(value, enum.Enum):
        return _enum(walk, value)
    if is_own(kind.__module__):
        return describe_own.describe(walk, value)
    if isinstance(value, np.generic):
        return f"{kind.__name__} {value.tobytes().hex()}"
    if isinstance(value, np.dtype):
        return f"dtype {value!r}"
    if is_standard(kind.__module__) or library_of(kind.__module__) == "numpy":
        return _library_object(walk, value)
    return _instance(walk, value)


def _enum(walk: Walk, value: enum.Enum) -> str:
    _, is_new = walk.number(value)
    if is_new:
        walk.hold(value, lambda: members_of(value))
    return f"{describe_class(walk, type(value), makes=False)}.{value.name} {value.value!r}"


def _library_object(walk: Walk, value: Any) -> str:
    name = fixed_name(value, not walk.native)
    if name is not None:
        return name
    wrapped = getattr(value, "__wrapped__", None)
    if isinstance(wrapped, types.FunctionType):  # of functools.lru_cache
        return f"cached {describe(walk, wrapped)}"
    if type(value).__name__ == TUPLE_GETTER:
        return repr(value)
    if type(value).__module__ in ("typing", "types") and hasattr(value, "__args__"):
        return f"generic {', '.join(walk.inside(value, (getattr(value, '__origin__', None), *value.__args__)))}"
    return walk.cannot(value)


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
    return f"{name}{{{', '.join(sorted(walk.inside(value, value)))}}}" if is_new else name


def _mapping(walk: Walk, value: Mapping[Any, Any]) -> str:
    number, is_new = walk.number(value)
    name = f"{type(value).__name__}#{number}"
    if not is_new:
        return name
    made = walk.inside(value, [value.default_factory]) if isinstance(value, defaultdict) else []
    texts = walk.inside(value, [item for pair in value.items() for item in pair])
    pairs = (f"{key}: {item}" for key, item in zip(texts[::2], texts[1::2], strict=True))
    return f"{name}{{{', '.join([*made, *pairs])}}}"


def _plain(walk: Walk, value: Any) -> str:
    return repr(value)


def _array(walk: Walk, value: np.ndarray[Any, Any]) -> str:
    number, is_new = walk.number(value)
    name = f"array#{number}"
    return f"{name} {contents(walk, value)}" if is_new else name


# --- code -----------------------------------------------------------------------------------------------------------


def _function(walk: Walk, value: types.FunctionType) -> str:
    if value.__name__ in ASKS_CONFIG and is_own(value.__module__):
        describe_own.hold_config(walk)
    if value.__globals__.get("__name__") in GUARDS and hasattr(value, "__wrapped__"):
        return describe(walk, value.__wrapped__)
    module = value.__module__
    if module == "functools" and value.__closure__:  # of singledispatch: it encloses functions of the program
        return walk.cannot(value)
    if is_own(module) or is_standard(module) or library_of(module) == "numpy":
        return fixed_name(value, not walk.native) or walk.cannot(value)
    return walk.function(value, runs=True)


def _builtin(walk: Walk, value: types.BuiltinFunctionType) -> str:
    owner = value.__self__
    if value in READ_BY_NAME and walk.path.rpartition(".")[2] != value.__name__:
        return walk.cannot(value, f"another name for {value.__name__}, whose uses a text does not show")
    if owner is None or isinstance(owner, types.ModuleType):
        return fixed_name(value, not walk.native) or walk.cannot(value)
    if value.__name__ in FORMATS:
        return walk.cannot(value, READS_BY_FORMAT)
    return f"method {value.__name__} of {walk.inside(value, [owner])[0]}"


def _method(walk: Walk, value: types.MethodType) -> str:
    return f"method({', '.join(walk.inside(value, (value.__func__, value.__self__)))})"


def _partial(walk: Walk, value: functools.partial[Any]) -> str:
    return f"partial({', '.join(walk.inside(value, (value.func, value.args, value.keywords)))})"


def _property(walk: Walk, value: property) -> str:
    return f"property({', '.join(walk.inside(value, (value.fget, value.fset, value.fdel)))})"


def _cached_property(walk: Walk, value: functools.cached_property[Any]) -> str:
    return f"cached property {walk.inside(value, [value.func])[0]}"


def _wrapped(walk: Walk, value: Any) -> str:
    return f"{type(value).__name__} {walk.inside(value, [value.__func__])[0]}"


def _slot(walk: Walk, value: Any) -> str:
    if value.__name__ in FORMATS and value.__objclass__ is str:
        return walk.cannot(value, READS_BY_FORMAT)
    return f"slot {value.__objclass__.__qualname__}.{value.__name__}"


def _func(walk: Walk, value: Func) -> str:
    if is_own(value.function.__module__):  # of `ti.math`; our own sources are part of every key
        return f"own {value.function.__module__}.{value.function.__qualname__}"
    walk.number(value)
    outer, walk.owner = walk.owner, value
    text = walk.function(value.function, runs=False)
    walk.owner = outer
    if value.in_python:
        running = walk.runs_too(value.function)
        reader = walk.reader if walk.owner is value else walk.owner
        if reader is not None:
            walk.reach.setdefault(id(reader), set()).add(id(running))
    walk.hold(value, lambda: own_attributes(value))
    return f"{'real ' if value.is_real else ''}{'python ' if value.in_python else ''}{text}"


def _bound_func(walk: Walk, value: BoundFunc) -> str:
    return f"bound({', '.join(walk.inside(value, (value.func, value.instance)))})"


def _module(walk: Walk, value: types.ModuleType) -> str:
    _, is_new = walk.number(value)
    if is_new:
        walk.hold(value, lambda: vars(value))
    return f"module {value.__name__}"


def member_of_module(walk: Walk, module: types.ModuleType, name: str) -> Any:
    """Return what a module holds under a name, `MISSING` if nothing; modules of ours load some on demand."""
    members = vars(module)
    if name in members and not (module.__name__ == PACKAGE and name in LOADED_ON_DEMAND):
        return members[name]
    if is_own(module.__name__):
        if name == "cfg":
            return walk.config
        return getattr(module, name, MISSING) if module.__name__ != PACKAGE else MISSING
    ask = members.get("__getattr__")
    if isinstance(ask, types.FunctionType):
        walk.roots.add(id(ask))
        walk.named(f"{module.__name__}.__getattr__", ask, ask)
    return MISSING


# --- classes and their objects ----------------------------------------------------------------------------------------


def describe_class(walk: Walk, value: type, makes: bool) -> str:
    """Describe a class and those that it inherits from. makes: objects of it may be made, so constructors count."""
    module = value.__module__
    if is_own(module) or is_standard(module) or library_of(module) == "numpy":
        return fixed_name(value, not walk.native) or walk.cannot(value)
    in_c = any(_is_own_slot(value, name, member) for name, member in vars(value).items())
    if in_c or type(value).__name__ not in METACLASSES:
        return walk.cannot(value, "a class that is not written in Python")
    number, is_new = walk.number(value)
    name = f"class#{number}"
    walk.hold(value, lambda: vars(value), is_class=True, makes=makes)
    outer, walk.owner = walk.owner, value
    bases = [describe_class(walk, base, makes) for base in value.__bases__]
    walk.owner = outer
    if not is_new:
        return name
    if isinstance(value, enum.EnumMeta):
        members: dict[str, enum.Enum] = dict(value.__members__)
        return f"enum {name}{walk.inside(value, [*members, *(member.value for member in members.values())])}"
    return f"{name} {value.__qualname__!r}({', '.join(bases)})"


def _is_own_slot(kind: type, name: str, member: Any) -> bool:
    """Tell whether a class has a member written in C, not one that it took from another class."""
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
    walk.hold(value, lambda: members_of(value))
    base = next((base for base in PLAIN_BASES if isinstance(value, base)), None)
    if base is not None:
        text += f" {_content(walk, value, base)}"
    if isinstance(value, np.ndarray):
        walk.cannot(value)
    if hasattr(kind, "_data_oriented"):
        walk.oriented.append(value)
    extra = describe_own.content_of_base(walk, value)
    return f"{text} {extra}" if extra else text


def _content(walk: Walk, value: Any, base: type) -> str:
    if base is dict:
        texts = walk.inside(value, [item for pair in dict.items(value) for item in pair])
        return f"{texts}"
    if base in (tuple, list, set, frozenset):
        texts = walk.inside(value, base.__iter__(value))
        return f"{texts if base in (tuple, list) else sorted(texts)}"
    return repr(base(value))


def members_of(value: Any) -> dict[str, Any]:
    """Return what an object itself holds, by name."""
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
    range: _plain,
    slice: _plain,
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
}
"""How objects of a class, exactly, are described."""
