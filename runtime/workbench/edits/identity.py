"""What distinguishes two kernels of one function, as text: types of arguments, options, and the values that a kernel
reads of its template arguments and enclosing functions.

In: a specialization. Out: digests for the names of slots, and the values that an edit records (`header.py`).
"""

from __future__ import annotations

import enum
import hashlib
from dataclasses import replace
from typing import Any

import numpy as np

from ....transpiler.content_key import specific_values
from ....transpiler.frontend.source.specialization import Argument, ArrayArgument, Specialization, TemplateArgument
from ....transpiler.ir.snodes import index_components_of
from ....transpiler.ir.types import Scalar, Struct, Tensor, described
from ....transpiler.lang.describe import ArrayDescription, is_described, safe_attribute
from ....transpiler.lang.matrix import Matrix
from ....transpiler.lang.struct import Struct as StructValue
from ....transpiler.options import CompileOptions
from ...config import plain_name
from .header import inert

MAX_LABEL = 48
"""Characters of a slot's name before its digest: file systems have limits, and people read it."""
DIGITS = 6
OPTION = "options."
"""Prefix of an option's name in an edit."""
NO_IDENTITY = frozenset({"own_templates", "pass_limit"})
"""Options of which an edit is none: what they change in a source is merged."""
MAX_DEPTH = 4
_VALUES = "_shadesmith_specific_values"


def label_of(specialization: Specialization) -> str:
    """Return the arguments as the beginning of a folder's name."""
    label = "-".join(map(_label, specialization.arguments)) or "no_arguments"
    return label[:MAX_LABEL].rstrip("-_.")


def argument_digest(specialization: Specialization) -> str:
    """Return the digest of the types of the arguments, of template values and options."""
    shown = ", ".join(f"{name}={value!r}" for name, value in _changed_options(specialization.options))
    return _digest([*map(_identity, specialization.arguments), shown])


def value_digest(specialization: Specialization) -> str:
    """Return the digest of the values that a kernel reads of its objects, "" if it reads none."""
    found = values_of(specialization)
    return _digest([f"{name}={value}" for name, value in found]) if found else ""


def recorded_values(specialization: Specialization) -> tuple[tuple[str, str], ...]:
    """Return what an edit records: these values, and the options that are not the default."""
    options = ((f"{OPTION}{name}", option_text(value)) for name, value in _changed_options(specialization.options))
    return (*values_of(specialization), *options)


def option_text(value: Any) -> str:
    """Return the value of an option as an edit records it."""
    return inert(repr(sorted(value) if isinstance(value, frozenset) else value))


def values_of(specialization: Specialization) -> tuple[tuple[str, str], ...]:
    """Return the values that a kernel reads of its objects, by the expression that reads them, in order of these.

    The frontend runs for it, once for each specialization. Raises: TaichiCompilationError for the user's mistakes.
    """
    found: tuple[tuple[str, str], ...] | None = specialization.__dict__.get(_VALUES)
    if found is None:
        shown = ((name, list(map(_shown, values))) for name, values in specific_values(specialization).items())
        texts = ((name, "; ".join(text for text in each if text is not None)) for name, each in shown)
        found = tuple(sorted((inert(name), inert(text)) for name, text in texts if text))
        specialization.__dict__[_VALUES] = found
    return found


def without_checks(options: CompileOptions) -> CompileOptions:
    """Return the options of the same program without debug: edits are of that program."""
    return replace(options, debug=False, check_out_of_bound=False, check_overflow=False, trap_nan=False, verify=False)


def shown(argument: Argument) -> str:
    """Return an argument's type or number for people; for objects the class, since their `str` has addresses."""
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value: Any = argument.value
    if value is None or isinstance(value, bool | int | float | str):
        return repr(value)
    if not is_described(value):
        return safe_attribute(value, "__name__", str, type(value).__name__)
    return array_text(value.describe_array())


def array_text(array: ArrayDescription) -> str:
    """Return an array's type for people: `field[f32[2], 64x32]`."""
    return f"{array.kind}[{described(array.element)}, {'x'.join(map(str, array.shape)) or '0-D'}]"


def _digest(parts: list[str]) -> str:
    return hashlib.sha256("\x00".join(parts).encode(errors="backslashreplace")).hexdigest()[:DIGITS]


def _label(argument: Argument) -> str:
    """Return how a slot's name shows an argument."""
    if isinstance(argument, ArrayArgument):
        flags = f"{'_strided' if argument.strided else ''}{'_clamped' if argument.clamped else ''}"
        return plain_name(f"{described(argument.element)}_{argument.ndim}d{flags}")
    if isinstance(argument, TemplateArgument):
        value: Any = argument.value
        if value is None or isinstance(value, bool | int | float | str):
            return plain_name(str(value))
        return (
            "field" if is_described(value) else plain_name(safe_attribute(value, "__name__", str, type(value).__name__))
        )
    return plain_name(str(argument))


def _identity(argument: Argument) -> str:
    """Return what distinguishes the arguments of slots: types, shapes of fields, numbers; of other objects their class.

    What a kernel reads of such an object is among its values.
    """
    if not isinstance(argument, TemplateArgument):
        return str(argument)
    value: Any = argument.value
    if value is None or isinstance(value, bool | int | float | str | bytes):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"({', '.join(_identity(TemplateArgument(item)) for item in value)})"
    if isinstance(value, dict):
        return str(_shown(value))
    if not is_described(value):
        return safe_attribute(value, "__qualname__", str, type(value).__qualname__)
    return _array_identity(value)


def _array_identity(value: Any) -> str:
    found = value.describe_array()
    place = "" if found.place is None else f" {[tuple(component) for component in index_components_of(found.place)]}"
    return f"{array_text(found)}{found.offset or ''}{place}"


def _shown(value: Any, depth: int = 0) -> str | None:
    """Return a value that is a constant in a source, None for an object, whose members are values themselves."""
    if value is None or isinstance(value, bool | int | float | complex | str | bytes):
        return repr(value)
    if isinstance(value, enum.Enum):
        return f"{type(value).__qualname__}.{value.name}"
    if isinstance(value, Scalar | Tensor | Struct):
        return described(value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, Matrix):
        return repr(value.entries.tolist())
    if isinstance(value, np.ndarray):
        return f"{value.dtype.str} {value.shape} {_digest([value.tobytes().hex()])}"
    if isinstance(value, StructValue):
        value = dict(value.items)
    if is_described(value):
        return _array_identity(value)
    if depth < MAX_DEPTH and isinstance(value, list | tuple):
        return f"[{', '.join(_shown(item, depth + 1) or type(item).__qualname__ for item in value)}]"
    if depth < MAX_DEPTH and isinstance(value, dict):
        items = (f"{key!r}: {_shown(item, depth + 1) or type(item).__qualname__}" for key, item in value.items())
        return f"{{{', '.join(items)}}}"
    return None


def _changed_options(options: CompileOptions) -> list[tuple[str, Any]]:
    """Return the options that are not the default, so that a new option of shadesmith moves no slot."""
    plain = CompileOptions()
    values = ((name, getattr(options, name)) for name in CompileOptions.__slots__ if name not in NO_IDENTITY)
    changed = ((name, value) for name, value in values if value != getattr(plain, name))
    return [(name, sorted(value) if isinstance(value, frozenset) else value) for name, value in changed]
