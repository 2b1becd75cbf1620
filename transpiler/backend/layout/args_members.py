"""The members of `Args`: arguments, extents, strides, and the addresses of arrays, trees, textures and own buffers.

In: a kernel and what it uses. Out: `ArgsMember`s sorted by size, and with offsets the members of the `Interface`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ...ir.constants import SUMS, Key, is_short_number
from ...ir.nodes import Statement
from ...ir.snodes import Node, memory_of
from ...ir.sparse import CELL_MEMBERS, NodeUse, sparse_array
from ...ir.sparse_storage import COUNTERS
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Const,
    Operation,
    Parameter,
)
from ...ir.tasks import Kernel
from ...ir.textures import Texture, TextureFetch, TextureSample, describe_texture
from ...ir.types import (
    SCALARS,
    Scalar,
    Struct,
    Tensor,
    Type,
    element_of,
    u32,
)
from ...lazy_dataclasses import dataclass
from ..languages.common.language import Language
from ..languages.common.naming import Names, bound_name, legal
from ..languages.common.syntax import storage_name, type_name
from ..languages.common.target import Target
from ..module.divisors import DIVISOR
from ..module.interface import Member
from .declarations import Access, BufferReferences, array_type
from .sparse_functions import SparseSource
from .structs import Structs
from .tree_structs import TreeSource, elements_of
from .usage import Divisor, Usage
from .used_names import no_members, parameters_of
from .whole_loads import row_of

POINTER_BYTES = 8
WORDS = {"+": "plus", "-": "minus", "*": ""}
"""Symbols in the names of divisors."""
WIDENED = {"u1": "u32", "i8": "i32", "u8": "u32", "i16": "i32", "u16": "u32", "f16": "f32"}
"""How small scalars travel in `Args`: push constants of 8 and 16 bits need features that many devices lack."""
AUXILIARY_NOTES = {
    "list": "row-major numbers of the active cells",
    "pieces": "the items of the lists, in pieces",
    "ends": "number of items of each list before the loop",
    "words": "the cells as 32-bit words",
}
"""Comments at the auxiliary arrays of sparse nodes."""


@dataclass(slots=True)
class ArgsMember:
    """A member of `Args` before it has an offset."""

    name: str
    key: object
    type: str
    """Name of the scalar a launcher packs, "u64" for addresses."""
    declared: str
    note: str
    sources: list[tuple[object, ...]]
    scalar_bytes: int


class ArgsMembers:
    """Gathers the members of `Args`."""

    def __init__(
        self,
        kernel: Kernel,
        target: Target,
        usage: Usage,
        structs: Structs,
        trees: dict[Node, TreeSource],
        cells: SparseSource | None,
    ) -> None:
        self.kernel, self.target, self.usage, self.structs, self.trees = kernel, target, usage, structs, trees
        self.language = target.language
        self.cells = cells
        self.names = Names(no_members(kernel, target, structs))
        self.items: list[ArgsMember] = []
        self.parameters = parameters_of(kernel)
        self.fixed: set[str] = set()  # names that the source uses literally: other members get different ones
        self.references = BufferReferences(target)
        self.overlapping = [array for array in usage.arrays if array.may_alias]
        self.overlapping_written = [array for array in self.overlapping if array in usage.written]
        self.wide: dict[Array, tuple[str, int]] = {}
        """The names of the types of several neighbours in an array, and how many they are."""
        self.words: dict[Array, str] = {}
        self.rows: dict[Array, str] = {}
        """The names of the types by which elements of an array are stored in parts."""

    def gather(self) -> list[ArgsMember]:
        """Return all members, the largest scalars first; divisors are last, so that a source may lack them."""
        self.fixed = {self.names.declare(name) for name in fixed_members(self.kernel, self.usage)}
        for array in sorted(self.usage.arrays, key=lambda a: a.binding):
            source = ("gradient" if array.is_gradient else "pointer", array.binding)
            if self.is_of_cells(array):
                continue
            if array.role in AUXILIARY_NOTES:
                of_lists = array.node is not None and array.node.kind == "dynamic"
                note = AUXILIARY_NOTES["pieces" if of_lists and array.role == "list" else array.role]
                self._pointer(array.name, array, self._array_pointer(array), note, source)
            elif array.place is None:
                self._pointer(f"{array.name}_data", array, self._array_pointer(array), array_type(array), source)
            elif (part := memory_of(array.place)) not in (item.key for item in self.items):
                tree = self.trees[part]
                self._pointer(tree.pointer, part, self._tree_pointer(tree), self._note(tree), source)
            if array in self.usage.wide:
                self.wide[array] = self._other_type(array, self.usage.wide[array]), self.usage.wide[array].size
            if (row := row_of(array, self.usage, self.language)) is not None:
                self.rows[array] = self._other_type(array, row)
            if array in self.usage.words:
                self.words[array] = self._other_type(array, self.usage.words[array])
        if self.language.has_pointers:
            for texture in sorted(self.usage.textures, key=lambda t: t.binding):
                self._texture(texture)
        for need, member, note in self.cells.members() if self.cells is not None else ():
            self._cells(need, member, note)
        if self.kernel.temporaries:
            self._block("temporaries", "Temporaries", "values that cross tasks")
        if self.kernel.returns:
            self._block("result", "Result", "what the kernel returns")
        if has_report(self.usage):
            declared = f"{type_name(self.language, u32)} *" if self.language.has_pointers else "Report"
            self._pointer("report", "report", declared, "records of print and of checks", ("report",))
        for parameter in sorted(self.usage.parameters, key=lambda p: p.position):
            self._parameter(parameter)
        shapes = self.usage.shapes.items()
        for (owner, axis), name in sorted(
            shapes, key=lambda s: (isinstance(s[0][0], Texture), s[0][0].binding, s[0][1])
        ):
            name = name or f"{owner.name}_n{axis if owner.ndim > 1 else ''}"
            note = f"{owner.name}.shape[{axis}]"
            kind = "texture_shape" if isinstance(owner, Texture) else "shape"
            self._add(name, (owner, axis), "i32", "int", note, [(kind, owner.binding, axis)], 4)
        for array in sorted((a for a in self.usage.arrays if a.strided), key=lambda a: a.binding):
            for axis in range(array.ndim):
                self._stride(array, axis)
            if array.ndim and not self.language.has_pointers:
                note = f"{array.name}: its first element, counted from the one at the lowest address"
                self._add(f"{array.name}_begin", ("begin", array), "i32", "int", note, [("begin", array.binding)], 4)
        if self.usage.random:
            declared = type_name(self.language, u32)
            self._add("seed", "seed", "u32", declared, "seed of the random numbers of this launch", [("seed",)], 4)
        others = sorted(self.items, key=lambda item: -item.scalar_bytes)
        for number, (key, divisor) in enumerate(self.usage.divisors.items()):
            self._divisor(number, key, divisor)
        return [*others, *self.items[len(others) :]]

    def _texture(self, texture: Texture) -> None:
        """Add the handles of a texture: CUDA fetches texels through another object than it samples through."""
        declared = self.language.texture_handles[texture.is_storage]
        by_texels = self.language.samples_by_object and (TextureFetch, texture) in self.usage.texels
        if not by_texels or (TextureSample, texture) in self.usage.texels:
            self._pointer(texture.name, texture, declared, describe_texture(texture), ("texture", texture.binding))
        if by_texels:
            note = f"{describe_texture(texture)}, by texels"
            key: object = ("texels", texture)
            self._pointer(f"{texture.name}_texels", key, declared, note, ("texels", texture.binding))
        if self.language.samples_by_object and not texture.is_storage:
            source = ("texture_channels", texture.binding)
            note = f"channels of {texture.name}: CUDA gives 0 for a missing alpha"
            self._add(f"{texture.name}_channels", ("channels", texture), "i32", "int", note, [source], 4)

    def _divisor(self, number: int, key: Key, divisor: Divisor) -> None:
        """Add the multiplier and the shift by which the source divides."""
        if divisor.value is not None and is_short_number(divisor.value):
            name, note = self._named(divisor.value)
        else:
            assert divisor.loop is not None
            names, axis = divisor.loop.names, divisor.axis
            index = names[axis] if axis < len(names) else f"i{axis}"
            name, note = bound_name("extent", legal(index)), f"the extent along {index}"
        note = f"to divide by {note} (launch_divisors)"
        self._add(f"by_{name}", key, "u64", DIVISOR, note, [("divisor", number)], POINTER_BYTES)

    def _named(self, value: Statement) -> tuple[str, str]:
        """Return a short number of the launch as a part of a name, and as an expression."""
        match value:
            case Const(value=number):
                return f"minus_{-number}" if number < 0 else str(number), str(number)
            case Operation(op=op, operands=[first, second]):
                symbol, (name, left), (other, right) = SUMS[op], self._named(first), self._named(second)
                return "_".join(filter(None, (name, WORDS[symbol], other))), f"{left} {symbol} {right}"
        key: object = value.parameter if isinstance(value, ArgLoad) else None
        if isinstance(value, ArrayShape):
            key = (value.array, value.axis)
        name = next(item.name for item in self.items if item.key == key)
        return name, name

    def is_of_cells(self, array: Array) -> bool:
        """Return whether an array is reached through a member of a sparse node."""
        return self.cells is not None and array.role in (*CELL_MEMBERS, *COUNTERS, "cells")

    def _cells(self, need: NodeUse, name: str, note: str) -> None:
        """Add the member for what a sparse node needs."""
        assert self.cells is not None
        what, node = need
        declared = self.cells.declared(need)
        if what == "capacity":
            cells = sparse_array(self.kernel, node, "cells")
            self._add(name, need, "i32", declared, note, [("capacity", cells.binding)], 4)
            return
        array = sparse_array(self.kernel, node, "taken" if what == "pool" else what)
        self._pointer(name, need, declared or self.references.of(u32, "uint"), note, ("pointer", array.binding))

    def _add(
        self, name: str, key: object, type: str, declared: str, note: str, sources: list[tuple[object, ...]], size: int
    ) -> None:
        if name in self.parameters and not isinstance(key, Parameter):
            name += "_"  # an accessor macro with a parameter of this name would replace it by an index
        name = name if key in self.fixed else self.names.declare(name)
        self.items.append(ArgsMember(name, key, type, declared, note, sources, size))

    def _stride(self, array: Array, axis: int) -> None:
        """Add the distance of elements along an axis; 64 bits wide outside GLSL, so that index arithmetic is too."""
        name = f"{array.name}_stride{axis if array.ndim > 1 else ''}"
        type, declared, size = ("i64", "long long", 8) if self.language.has_pointers else ("i32", "int", 4)
        note = f"{array.name}.strides[{axis}], in elements"
        self._add(name, ("stride", array, axis), type, declared, note, [("stride", array.binding, axis)], size)

    def _pointer(self, name: str, key: object, declared: str, note: str, source: tuple[object, ...]) -> None:
        self._add(name, key, "u64", declared, note, [source], POINTER_BYTES)

    def _block(self, name: str, struct: str, note: str) -> None:
        declared = f"{self.language.struct_tag}{struct} *" if self.language.has_pointers else struct
        self._pointer(name, name, declared, note, (name,))

    def _parameter(self, parameter: Parameter) -> None:
        assert not isinstance(parameter.type, Struct)
        name = element_of(parameter.type).name
        first = parameter.component
        if isinstance(parameter.type, Scalar):
            name = WIDENED.get(name, name)
            declared = type_name(self.language, _scalar(name))
            sources: list[tuple[object, ...]] = [("argument", parameter.position, first)]
        else:
            declared = storage_name(self.language, parameter.type)
            sources = [("argument", parameter.position, first + k) for k in range(parameter.type.size)]
        self._add(parameter.name, parameter, name, declared, str(parameter.type), sources, _scalar(name).size_bytes)

    def _array_pointer(self, array: Array) -> str:
        element = self.structs.name_of_type(array.element, True)
        access = self._access([array])
        if self.language.has_pointers:
            return self._declared_pointer(element, access)
        return self.references.of(array.element, element, access)

    def _other_type(self, array: Array, type: Type) -> str:
        """Return the name of another type of which an array's memory is: of neighbours as a vector, or of the numbers
        of elements; or of a buffer reference of it."""
        access, name = self._access([array]), type_name(self.language, type)
        if self.language.has_pointers:
            return name if access.writes else f"const {name}"
        return self.references.of(type, name, access)

    def _declared_pointer(self, element: str, access: Access) -> str:
        constant, restrict = "" if access.writes else "const ", self.language.restrict if access.is_restricted else ""
        return f"{constant}{element} *{restrict}"

    def _access(self, arrays: Sequence[Array]) -> Access:
        """Return how the kernel accesses arrays with one pointer.

        Fields share no memory. Ndarrays may overlap: nothing is promised of one if it or another is written. Nor is
        anything promised of memory that the threads of a grid exchange, that has buffer references of two types, or
        where cells of sparse nodes may be activated; in other kernels no pointer to cells reaches the lists or masks.
        """
        usage = self.usage
        reads = any(array in usage.read or array in usage.read_back for array in arrays)
        writes = any(array in usage.written for array in arrays)
        may_overlap = any(array.may_alias for array in arrays)
        others = () if not may_overlap else self.overlapping if writes else self.overlapping_written
        is_shared = any(other not in arrays for other in others)
        has_two_types = not self.language.has_pointers and any(array in usage.words for array in arrays)
        changes = self.cells is not None and (self.cells.changes_cells or not self.language.has_pointers)
        return Access(reads, writes, not (changes or usage.fences or is_shared or has_two_types))

    def _tree_pointer(self, tree: TreeSource) -> str:
        arrays = [a for a in self.usage.arrays if a.place is not None and memory_of(a.place) is tree.part]
        access = self._access(arrays)
        if self.language.has_pointers:
            return self._declared_pointer(tree.element, access)
        if tree.single is not None:
            return self.references.of(tree.tree.elements[tree.single], tree.element, access)
        return self.references.of_structs(tree.element, elements_of(tree), access)

    def _note(self, tree: TreeSource) -> str:
        """Return the comment at the pointer of a tree: the arrays in it."""
        own = [a for a in self.usage.arrays if a.place is not None and memory_of(a.place) is tree.part]
        kinds = groupby(sorted(own, key=lambda a: a.binding), array_type)
        return ", ".join(f"{', '.join(a.name for a in alike)}: {kind}" for kind, alike in kinds)


def fixed_members(kernel: Kernel, usage: Usage) -> list[str]:
    """Return the names of the members of `Args` that printers use literally: no struct may have such a name."""
    present = {"temporaries": kernel.temporaries, "result": kernel.returns, "report": has_report(usage)}
    return [name for name, is_present in present.items() if is_present]


def has_report(usage: Usage) -> bool:
    """Return whether a kernel has a report buffer."""
    return bool(usage.sites) and usage.has_records


def _scalar(name: str) -> Scalar:
    return SCALARS[name]


def owner_prefix(item: ArgsMember) -> str:
    """Return the start of a member's comment: the array or argument that it belongs to."""
    if isinstance(item.key, Array) and item.key.role in AUXILIARY_NOTES:
        return f"{item.name.removesuffix('_' + item.key.role)}: "
    if isinstance(item.key, (Array, Parameter)):
        return f"{item.key.name}: "
    return ""


def assign_offsets(
    items: Iterable[ArgsMember], language: Language
) -> tuple[tuple[Member, ...], dict[object, int], int]:
    """Return the members of the interface, the number of the first one of each key, and the size of all.

    The members are sorted by size, so there is padding only at the end, and before what would be misread.
    """
    members: list[Member] = []
    numbers: dict[object, int] = {}
    offset = 0
    largest = 4
    for item in items:
        numbers[item.key] = len(members)
        size = item.scalar_bytes
        largest = max(largest, size if item.declared != DIVISOR else 4)
        if language.offset and offset % 32 == 16 and _has_long_rows(item.key):
            offset += size
            item.declared = f"{language.offset.format(offset=offset)} {item.declared}"
            item.note += f", not at {offset - size}: NVIDIA misreads it there"
        for k, source in enumerate(item.sources):
            name = item.name if len(item.sources) == 1 else f"{item.name}[{k}]"
            members.append(Member(name, item.type, offset, size, source))
            offset += size
    return tuple(members), numbers, -(-offset // largest) * largest


def _has_long_rows(key: object) -> bool:
    """Return whether an argument is a vector of 3 or 4 numbers of 64 bits, or has such rows.

    NVIDIA's Vulkan reads others in place of its last two if the address is an odd multiple of 16 (driver 580.159).
    """
    if not isinstance(key, Parameter) or not isinstance(key.type, Tensor):
        return False
    return key.type.element.size_bytes == 8 and key.type.shape[-1] in (3, 4)
