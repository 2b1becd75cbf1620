"""Declarations of memory: members of generated structs, types of GLSL buffer references, array types in comments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ...ir.statements import (
    Array,
)
from ...ir.types import (
    Struct,
    Tensor,
    Type,
    alignment_bytes,
    element_of,
    parts_of,
    scalars_of,
)
from ...lazy_dataclasses import dataclass
from ..languages.common.target import Target

BLOCK_NAMES = {"int": "I", "uint": "U", "float": "F", "bool": "B"}
"""First letters of the names of buffer reference types, by kind of scalar."""


@dataclass(frozen=True, slots=True)
class Declaration:
    """One member of a generated struct. note: the comment in its line."""

    type: str
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Access:
    """How a kernel accesses the memory behind a pointer.

    reads, writes: whether it does. is_restricted: nothing that the kernel writes can be reached through another pointer
    of it too.
    """

    reads: bool = True
    writes: bool = True
    is_restricted: bool = False

    @property
    def prefix(self) -> str:
        """The start of the name of a GLSL buffer reference type."""
        if not self.is_restricted:
            return ""
        return "Read" if not self.writes else "" if self.reads else "Write"

    @property
    def qualifiers(self) -> str:
        """The qualifiers of GLSL; memory that only one pointer reaches is what `readonly` means there."""
        if not self.is_restricted:
            return ""
        return "restrict " + ("readonly " if not self.writes else "" if self.reads else "writeonly ")


ANY_ACCESS = Access()


@dataclass(frozen=True, slots=True)
class Reference:
    """A GLSL buffer reference type: `layout(...) buffer F32 { float v[]; };`."""

    name: str
    element: str
    align: int
    row_major: bool
    qualifiers: str = ""
    volatile: bool = False
    coherent: bool = False

    @property
    def declaration(self) -> str:
        """The declaration in GLSL, on two lines if it is long."""
        flags = "row_major, " if self.row_major else ""
        layout = f"layout(buffer_reference, scalar, {flags}buffer_reference_align = {self.align})"
        qualifiers = ("volatile " if self.volatile else "") + ("coherent " if self.coherent else "")
        block = f"{qualifiers}{self.qualifiers}buffer {self.name} {{ {self.element} v[]; }};"
        return f"{layout} {block}" if len(layout) + len(block) < 100 else f"{layout}\n    {block}"


def precise(target: Target, type: Type, declared: str) -> str:
    """Return the declaration of memory; with `exact`, GLSL then rounds every operation whose result it stores."""
    is_float = any(scalar.is_float for scalar in scalars_of(type))
    return f"{target.language.precise}{declared}" if target.exact and is_float else declared


def array_type(array: Array) -> str:
    """Return how a comment names an array's type: `ndarray[f32, 2]`, `field[f32, 512x512 from (0, 1)]`."""
    if array.shape is None:
        flags = f"{', strided' if array.strided else ''}{', clamped' if array.clamped else ''}"
        return f"ndarray[{array.element}, {array.ndim}{flags}]"
    origin = f" from ({', '.join(map(str, array.offset))})" if array.offset else ""
    return f"field[{array.element}, {'x'.join(map(str, array.shape)) or '0-D'}{origin}]"


def has_matrix(type: Type) -> bool:
    """Return whether a part of `type` is a native matrix of GLSL, which needs `row_major` to be stored row by row."""
    parts = (part for part in parts_of(type) if isinstance(part, Tensor))
    return any(len(part.shape) == 2 and max(part.shape) <= 4 for part in parts)


def has_vector(type: Type) -> bool:
    """Return whether a part of `type` is a vector or matrix."""
    return any(isinstance(part, Tensor) for part in parts_of(type))


class BufferReferences:
    """Gathers the GLSL buffer reference types of a kernel by name."""

    def __init__(self, target: Target) -> None:
        self.target = target
        self.references: dict[str, Reference] = {}

    def of_structs(self, element: str, types: Sequence[Type], access: Access = ANY_ACCESS) -> str:
        """Return the name of the GLSL buffer reference type that holds structs of `types`."""
        name = f"{access.prefix}{element}Buffer"
        is_float = any(scalar.is_float for type in types for scalar in scalars_of(type))
        declared = f"{self.target.language.precise}{element}" if self.target.exact and is_float else element
        align = max(alignment_bytes(type) for type in types)
        self._add(Reference(name, declared, align, any(has_matrix(type) for type in types), access.qualifiers))
        return name

    def _add(self, reference: Reference) -> None:
        """Add a type; it promises only what is true of all pointers of its name."""
        known = self.references.get(reference.name)
        if known is not None and known.qualifiers != reference.qualifiers:
            reference = replace(reference, qualifiers="")
        self.references[reference.name] = reference

    def of(self, type: Type, element: str, access: Access = ANY_ACCESS) -> str:
        """Return the name of the GLSL buffer reference type that holds `type`."""
        if isinstance(type, Struct):
            return self.of_structs(element, [type], access)
        scalar = element_of(type)
        name = f"{access.prefix}{BLOCK_NAMES[scalar.kind]}{scalar.bits}"
        align = scalar.size_bytes
        if isinstance(type, Tensor):
            name += "x" + "x".join(map(str, type.shape))
            size = type.size_bytes
            align = size if len(type.shape) == 1 and size in (4, 8, 16) else scalar.size_bytes
        declared = precise(self.target, type, element)
        self._add(Reference(name, declared, align, has_matrix(type), access.qualifiers))
        return name
