"""One kernel for one kind of arguments, options and target capabilities: together they determine the emitted source.

Input: a definition and the launcher's description of a call. Output: `Specialization`, whose `key` identifies its
content.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import cached_property
from typing import Any, cast

from ...ir.textures import FORMATS, TexelFormat
from ...ir.types import Scalar, Struct, Tensor, Type, described, f32
from ...lang.decorators import BoundFunc, Func, as_bound
from ...lang.describe import is_described
from ...lang.textures import RWTextureType, TextureAnnotation, format_row
from ...lazy_dataclasses import dataclass
from ...options import Capabilities, CompileOptions
from .definition import KernelDefinition

MAX_DEPTH = 4
"""Depth to which members of a template argument are described."""


@dataclass(frozen=True, slots=True)
class ScalarArgument:
    """A number, vector or matrix passed by value."""

    type: Scalar | Tensor

    def __str__(self) -> str:
        return str(self.type)


@dataclass(frozen=True, slots=True)
class StructArgument:
    """A struct passed by value: one parameter for each part that is no struct, in order."""

    type: Struct

    def __str__(self) -> str:
        return described(self.type)


@dataclass(frozen=True, slots=True)
class ArrayArgument:
    """An ndarray: its elements and number of axes.

    strided: its memory is not contiguous and row-major. clamped: an index out of bounds means the nearest in bounds.
    has_gradient: of an argument of a gradient's kernel. owns_gradient: no other argument has the gradient's memory.
    """

    element: Type
    ndim: int
    strided: bool = False
    clamped: bool = False
    has_gradient: bool = False
    owns_gradient: bool = False

    def __str__(self) -> str:
        flags = f"{', strided' if self.strided else ''}{', clamped' if self.clamped else ''}"
        flags += ", gradient" if self.has_gradient else ""
        flags += " of its own" if self.owns_gradient else ""
        return f"ndarray[{described(self.element)}, {self.ndim}{flags}]"


@dataclass(frozen=True, slots=True)
class TextureArgument:
    """A texture. format: of a storage texture, None for a sampled one. element: component type in a kernel."""

    ndim: int
    element: Scalar
    format: TexelFormat | None = None
    lod: int = 0

    def __str__(self) -> str:
        if self.format is None:
            return f"texture[{self.element}, {self.ndim}]"
        return f"rw_texture[{self.format.name}, {self.ndim}]"


def texture_argument(annotation: TextureAnnotation, fmt: Any = None) -> TextureArgument:
    """Return what a kernel is specialised on. fmt: of the given texture, None if the kernel is only inspected."""
    if isinstance(annotation, RWTextureType):
        entry = FORMATS[annotation.fmt.name]
        return TextureArgument(annotation.num_dimensions, entry.element, entry, annotation.lod)
    return TextureArgument(annotation.num_dimensions, f32 if fmt is None else format_row(fmt).element)


@dataclass(frozen=True, slots=True)
class TemplateArgument:
    """A Python object taken at compile time."""

    value: object

    def __str__(self) -> str:
        return describe(self.value)


Argument = ScalarArgument | StructArgument | ArrayArgument | TextureArgument | TemplateArgument


@dataclass(frozen=True)
class Specialization:
    """A definition with argument kinds, options and capabilities. `key`: a digest that is equal in every process."""

    definition: KernelDefinition
    arguments: tuple[Argument, ...]
    options: CompileOptions
    capabilities: Capabilities

    @cached_property
    def key(self) -> str:
        """Digest of the source, the arguments' descriptions, the options and the capabilities.

        Values of captured globals and sources of called functions are not included, since they are known only after the
        frontend (`content_key` adds them).
        """
        seen: dict[int, int] = {}
        material = [
            self.definition.qualname,
            "\n".join(self.definition.source.lines),
            *(_argument_text(argument, seen) for argument in self.arguments),
            stable_text(self.options),
            stable_text(self.capabilities),
        ]
        return hashlib.sha256("\x00".join(material).encode()).hexdigest()[:16]


def _argument_text(argument: Argument, seen: dict[int, int]) -> str:
    if isinstance(argument, TemplateArgument):
        return "template " + describe(argument.value, seen)
    return str(argument)


def stable_text(options: CompileOptions | Capabilities) -> str:
    """Return all options as a string, with sets sorted (their own order differs between processes)."""
    parts = []
    for member in fields(options):
        value: Any = getattr(options, member.name)
        parts.append(f"{member.name}={sorted(value) if isinstance(value, frozenset) else value!r}")
    return ", ".join(parts)


def describe(value: object, seen: dict[int, int] | None = None, depth: int = 0) -> str:
    """Return a string that distinguishes template arguments by content, without addresses.

    Arrays are numbered by first appearance, so that the same array given twice differs from two alike.
    """
    seen = {} if seen is None else seen
    if value is None or isinstance(value, (int, float, str, bytes, complex)):
        return repr(value)
    if isinstance(value, (list, tuple)):
        return "(" + ", ".join(describe(item, seen, depth + 1) for item in value) + ")"
    number = seen.setdefault(id(value), len(seen))
    if is_described(value):
        return f"{cast(Any, value).describe_array()}#{number}"
    function = as_bound(value)
    if isinstance(function, (Func, BoundFunc)):
        return f"function {function.function.__qualname__}: {function.function.__code__.co_code.hex()}"
    if isinstance(value, type) or callable(value):
        return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    members = getattr(value, "__dict__", None)
    if members is None or depth >= MAX_DEPTH:
        return repr(value) if type(value).__repr__ is not object.__repr__ else type(value).__qualname__
    inner = ", ".join(f"{name}={describe(item, seen, depth + 1)}" for name, item in sorted(members.items()))
    return f"{type(value).__qualname__}({inner})"
