"""`passes=` of `ti.init` and `@ti.kernel`: passes of the compiler that are left out, and passes of the program.

In: items such as "-fold", "+fold" and `ti.Pass(function, after="offload")`. Out: compile options, which are part of
every key. A pass of the program is known by its code and by what that reads; what cannot be described keeps a kernel
out of the cache on disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from inspect import getclosurevars, isclass, isfunction, ismodule
from types import CodeType
from typing import Any, Protocol

from ..transpiler.errors import PACKAGE
from ..transpiler.options import OFF_BY_DEFAULT, CompileOptions, OwnPass
from .close_names import close_names
from .loading import loader

ABBREVIATIONS = {"cse": "common_subexpressions", "dce": "dead_code"}
"""Names of the field for passes."""
SIGNS = ("-", "+")
MAX_DEPTH = 8
"""Depth to which values that a pass reads are described."""

Item = str | OwnPass


class _Passes(Protocol):
    """The members of `transpiler.passes` that this module uses."""

    REQUIRED: frozenset[str]

    def names_of_passes(self) -> dict[str, list[str]]: ...


_passes: Callable[[], _Passes] = loader("..transpiler.passes", __package__)


def read_passes(given: str | OwnPass | Iterable[Item], source: str) -> tuple[Item, ...]:
    """Return checked items. given: one, several, or names in one string with commas. source: of them, for errors.

    Raises: ValueError for an unknown pass, one that every kernel needs, or a name without sign; TypeError for others.
    """
    items = [given] if isinstance(given, OwnPass) else given.split(",") if isinstance(given, str) else list(given)
    found: list[Item] = []
    for item in items:
        if isinstance(item, OwnPass):
            found.append(item)
        elif not isinstance(item, str):
            raise TypeError(f"{source} takes names such as '-fold' and `ti.Pass` objects, and {item!r} was given")
        elif item.strip():
            found.append(_checked(item.strip(), source))
    known = _known()
    for own in found:
        if isinstance(own, OwnPass) and own.name in known:
            raise ValueError(
                f"{source}: `{own.name}` is a pass of shadesmith. Hint: `ti.Pass(..., name='my_{own.name}')`"
            )
    return tuple(sorted(found, key=lambda item: isinstance(item, OwnPass)))


def _known() -> list[str]:
    return [name for names in _passes().names_of_passes().values() for name in names]


def _checked(item: str, source: str) -> str:
    sign, name = item[:1], ABBREVIATIONS.get(item[1:], item[1:])
    known, required = _known(), _passes().REQUIRED
    if sign not in SIGNS:
        raise ValueError(f"{source}: `{item}` has no sign. Hint: '-{item}' leaves a pass out, '+{item}' runs it")
    _check_name(name, known, source)
    if sign == "-" and name in required:
        optional = ", ".join(dict.fromkeys(name for name in known if name not in required))
        raise ValueError(f"{source}: every kernel needs the pass `{name}`. These can be left out: {optional}")
    return sign + name


def _check_name(name: str, known: Sequence[str], source: str) -> None:
    if name not in known:
        close = close_names(name, known)
        hint = f"did you mean `{close[0]}`?" if close else "`print(ti.passes())` lists them"
        raise ValueError(f"{source}: there is no pass `{name}`. Hint: {hint}")


def own_pass(function: Callable[..., Any], *, after: str = "", before: str = "", name: str = "") -> OwnPass:
    """Return a pass of the program, for `passes=[...]` of `ti.init` or `@ti.kernel`.

    function: takes the kernel (`transpiler.ir.tasks.Kernel`) and a `PassContext`, changes the kernel in place, and
      returns whether it has. The IR is verified after it.
    after, before: the pass next to which it runs, once; the last, or first, of that name. One of the two is needed.
    name: of the pass, in `kernel.ir` and remarks; "": the function's.
    Raises: TypeError for what is no function; ValueError for unknown passes.

    Example:
        >>> def show(kernel, context):
        ...     print(kernel.name, "has", len(kernel.tasks), "task")
        ...     return False
        >>> x = ti.field(ti.f32, shape=3)
        >>> @ti.kernel(passes=[ti.Pass(show, after="offload")])
        ... def double():
        ...     for i in x:
        ...         x[i] *= 2
        >>> source = double.source(arch=ti.cpu)
        double has 1 task
    """
    source = "ti.Pass"
    if not callable(function):
        raise TypeError(f"{source} takes a function of the kernel and its context, and {function!r} was given")
    if bool(after) == bool(before):
        raise ValueError(f"{source}: either `after` or `before` names the pass next to which it runs")
    anchor = ABBREVIATIONS.get(after or before, after or before)
    _check_name(anchor, _known(), source)
    own_name = name or getattr(function, "__name__", "")
    if not own_name.isidentifier():
        raise ValueError(f"{source}: `{own_name}` is no name for a pass. Hint: `name='my_pass'`")
    return OwnPass(own_name, anchor if after else "", anchor if before else "", function)


def with_passes(options: CompileOptions, items: Sequence[Item]) -> CompileOptions:
    """Return options with passes left out, run again, or added; later items override earlier ones."""
    disabled, own = set(options.disabled_passes), {one.name: one for one in options.own_passes}
    for item in items:
        if isinstance(item, OwnPass):
            digest, unknown = _described(item.function)
            own[item.name] = replace(item, digest=digest, unknown=unknown)
        elif item[0] == "-":
            disabled.add(item[1:])
        else:
            disabled.discard(item[1:])
    return replace(options, disabled_passes=frozenset(disabled), own_passes=tuple(own.values()))


# --- the description of a function


def _described(function: Callable[..., Any]) -> tuple[str, str]:
    """Return a digest of a function and of what it reads, and the name of something without a description or ""."""
    unknown: list[str] = []
    seen: dict[int, int] = {}
    text = _text("the pass", function, seen, unknown, 0)
    return sha256(text.encode()).hexdigest()[:16], unknown[0] if unknown else ""


def _text(path: str, value: Any, seen: dict[int, int], unknown: list[str], depth: int) -> str:
    if value is None or isinstance(value, (bool, int, float, complex, str, bytes, type(Ellipsis))):
        return repr(value)
    if id(value) in seen:
        return f"#{seen[id(value)]}"
    seen[id(value)] = len(seen)
    if ismodule(value):
        return f"module {value.__name__}"
    if depth > MAX_DEPTH:
        unknown.append(path)
        return "too deep"
    if isinstance(value, CodeType):
        inner = [_text(path, constant, seen, unknown, depth) for constant in value.co_consts]
        return f"code {value.co_code.hex()} {value.co_names} {value.co_varnames} {inner}"
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(_text(path, item, seen, unknown, depth + 1) for item in value)}]"
    if isinstance(value, (set, frozenset)):
        return f"{{{', '.join(sorted(_text(path, item, {}, unknown, depth + 1) for item in value))}}}"
    if isinstance(value, dict):
        return _text(path, list(value.items()), seen, unknown, depth)
    module = str(getattr(value, "__module__", ""))
    if (isclass(value) or callable(value)) and module.partition(".")[0] == PACKAGE:
        return f"{module}.{getattr(value, '__qualname__', value)}"
    if isfunction(value):
        return _function_text(value, seen, unknown, depth)
    if isclass(value) and module in ("builtins", "typing", "collections", "dataclasses", "enum", "re"):
        return f"{module}.{value.__qualname__}"
    unknown.append(path)
    return f"unknown {type(value).__name__}"


def _function_text(function: Any, seen: dict[int, int], unknown: list[str], depth: int) -> str:
    read = getclosurevars(function)
    names = {**read.globals, **read.nonlocals}
    parts = [_text(function.__qualname__, function.__code__, seen, unknown, depth + 1)]
    parts += [_text("defaults", function.__defaults__, seen, unknown, depth + 1)]
    parts += [_text("keywords", function.__kwdefaults__, seen, unknown, depth + 1)]
    parts += [f"{name}={_text(name, value, seen, unknown, depth + 1)}" for name, value in sorted(names.items())]
    return "\n".join(parts)


# --- the list of passes


@dataclass(frozen=True, slots=True)
class PassEntry:
    """A pass in its stage. required: every kernel needs it, so it cannot be left out. is_on: it runs unless it is."""

    stage: str
    name: str
    required: bool
    is_on: bool = True


class PassList(list[PassEntry]):
    """The passes in their order; those of a cleanup run until nothing changes."""

    def __str__(self) -> str:
        return "\n".join(f"{e.stage:<9} {e.name}{_note(e)}" for e in self)


def _note(entry: PassEntry) -> str:
    return " (required)" if entry.required else "" if entry.is_on else f" (only with passes='+{entry.name}')"


def passes() -> PassList:
    """Return the passes of the compiler in their order; it prints as a list.

    Example:
        >>> listed = ti.passes()
        >>> [each.required for each in listed if each.name == "offload"]
        [True]
        >>> "fold" in [each.name for each in listed]
        True
    """
    required = _passes().REQUIRED
    stages = _passes().names_of_passes()
    return PassList(
        PassEntry(stage, name, name in required, name not in OFF_BY_DEFAULT)
        for stage, names in stages.items()
        for name in names
    )
