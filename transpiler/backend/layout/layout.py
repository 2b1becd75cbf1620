"""Where a kernel's values lie: the members of `Args`, the accessor of each array, results and temporaries.

In: a kernel in final form. Out: a `Layout`: the `Interface` the launcher packs by, the declarations the templates
print, and the texts by which the printers reach arguments, extents and places in memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ...ir.nodes import Statement
from ...ir.snodes import Node, begin_of, index_components_of, is_sparse, memory_of, pool_cell_bytes, top_of
from ...ir.sparse import CELL_MEMBERS, COUNTERS, Need, most_cells, needs_of, sparse_array
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Parameter,
    Temporary,
)
from ...ir.tasks import Kernel
from ...ir.textures import TEXEL_READS, ImageStore, Texture, TextureFetch, TextureSample, describe_texture
from ...ir.types import (
    SCALARS,
    Scalar,
    Struct,
    Tensor,
    Type,
    aligned,
    alignment_bytes,
    described,
    element_of,
    parts_of,
    scalars_of,
    struct_layout,
    u1,
    u8,
    u32,
    with_element,
)
from ..languages.common.naming import Names
from ..languages.common.syntax import storage_helpers, storage_name, type_helpers, type_name
from ..languages.common.target import Target
from ..module.interface import ArrayBinding, Interface, Member, ResultField, TextureBinding, TreeAddress
from ..module.record_sites import describe_site
from .accessors import Accessors, Reach, accessors
from .sparse_functions import SparseSource
from .structs import Structs, make_structs
from .tree_structs import TreeSource, elements_of, write_tree
from .usage import Usage, collect, use_all
from .used_names import no_members, parameters_of, taken_names

POINTER_BYTES = 8
WIDENED = {"u1": "u32", "i8": "i32", "u8": "u32", "i16": "i32", "u16": "u32", "f16": "f32"}
"""How small scalars travel in `Args`: push constants of 8 and 16 bits need features that many devices lack."""
BESIDE = {
    "list": "the active cells, by number row by row",
    "pieces": "the items of lists, in pieces",
    "words": "the cells as words",
}
"""What comments say of arrays beside the cells of sparse nodes."""
PARTS = ("texels", "channels")
"""What CUDA's texts know of a texture beside the object it is sampled by."""
BLOCK_NAMES = {"int": "I", "uint": "U", "float": "F", "bool": "B"}


@dataclass(frozen=True, slots=True)
class Declaration:
    """One member of a generated struct as text. note: what the comment beside it says."""

    type: str
    name: str
    note: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A GLSL buffer reference type: `layout(...) buffer F32 { float v[]; };`."""

    name: str
    element: str
    align: int
    row_major: bool
    volatile: bool = False
    coherent: bool = False


@dataclass(slots=True)
class Layout:
    """interface, and every text that depends on it. declarations: members of `Args` in order."""

    interface: Interface
    declarations: list[Declaration]
    accessors: Accessors
    cells: SparseSource | None
    parameters: dict[Parameter, str]
    data: dict[Array, str]
    shapes: dict[tuple[Array | Texture, int], str]
    textures: dict[object, str]
    strides: dict[Array, list[str]]
    begins: dict[Array, str]
    member_numbers: dict[object, int]
    temporaries: dict[Temporary, str]
    temporary_members: list[Declaration]
    temporary_offsets: dict[Temporary, int]
    result_members: list[Declaration]
    references: list[Reference]
    stored_types: list[Type]
    structs: Structs
    trees: dict[Node, TreeSource]
    helpers: list[str]
    memory_types: list[Type]
    use: Usage
    report: str = "args.report"

    @property
    def words(self) -> list[str]:
        """The names of the macros that take a cell, and of what reaches sparse nodes."""
        inside = [name for name, _ in self.accessors.inside.values()]
        return inside + (self.cells.words() if self.cells is not None else [])

    def expression_of(self, statement: Statement) -> tuple[object, ...] | None:
        """Return ("member", k) for an argument or extent the host packs."""
        key: object = statement.parameter if isinstance(statement, ArgLoad) else None
        if isinstance(statement, ArrayShape):
            key = (statement.array, statement.axis)
        number = self.member_numbers.get(key)
        return None if number is None else ("member", number)


def _precise(target: Target, type: Type, declared: str) -> str:
    """Return the declaration of memory; with `exact`, GLSL rounds each operation whose result goes there by itself."""
    is_float = any(scalar.is_float for scalar in scalars_of(type))
    return f"{target.language.precise}{declared}" if target.exact and is_float else declared


def array_type(array: Array) -> str:
    """Return how a comment names an array's type: `ndarray[f32, 2]`, `field[f32, 512x512 from (0, 1)]`."""
    if array.shape is None:
        flags = f"{', strided' if array.strided else ''}{', clamped' if array.clamped else ''}"
        return f"ndarray[{array.element}, {array.ndim}{flags}]"
    since = f" from ({', '.join(map(str, array.offset))})" if array.offset else ""
    return f"field[{array.element}, {'x'.join(map(str, array.shape)) or '0-D'}{since}]"


_TemporaryLayout = tuple[dict[Temporary, str], list[Declaration], dict[Temporary, int], int]
"""Texts, members and offsets of temporaries, and the size of them all."""


@dataclass(slots=True)
class _Item:
    """A member of `Args` before it has an offset."""

    name: str
    key: object
    type: str
    """Name of the scalar a launcher packs, "u64" for addresses."""
    declared: str
    note: str
    sources: list[tuple[object, ...]]
    scalar_bytes: int


class _Members:
    """Gathers the members of `Args`."""

    def __init__(
        self,
        kernel: Kernel,
        target: Target,
        use: Usage,
        structs: Structs,
        trees: dict[Node, TreeSource],
        cells: SparseSource | None,
    ) -> None:
        self.kernel, self.target, self.use, self.structs, self.trees = kernel, target, use, structs, trees
        self.language = target.language
        self.cells = cells
        self.names = Names(no_members(kernel, target, structs))
        self.items: list[_Item] = []
        self.parameters = parameters_of(kernel)
        self.fixed: set[str] = set()  # members that texts reach by these words: other members make way
        self.references: dict[str, Reference] = {}

    def gather(self, result: bool) -> list[_Item]:
        has_report = bool(self.use.sites and self.use.has_records)
        parts = {"temporaries": bool(self.kernel.temporaries), "result": result, "report": has_report}
        self.fixed = {self.names.declare(word) for word, is_there in parts.items() if is_there}
        for array in sorted(self.use.arrays, key=lambda a: a.slot):
            source = ("gradient" if array.is_gradient else "pointer", array.slot)
            if self.is_of_cells(array):
                continue
            if array.role in BESIDE:
                of_lists = array.node is not None and array.node.kind == "dynamic"
                note = BESIDE["pieces" if of_lists and array.role == "list" else array.role]
                self._pointer(array.name, array, self._array_pointer(array), note, source)
            elif array.place is None:
                self._pointer(f"{array.name}_data", array, self._array_pointer(array), array_type(array), source)
            elif (part := memory_of(array.place)) not in (item.key for item in self.items):
                text = self.trees[part]
                self._pointer(text.pointer, part, self._tree_pointer(text), self._note(text), source)
        if self.language.has_pointers:
            for texture in sorted(self.use.textures, key=lambda t: t.slot):
                self._texture(texture)
        for need, member, note in self.cells.members() if self.cells is not None else ():
            self._cells(need, member, note)
        if self.kernel.temporaries:
            self._block("temporaries", "Temporaries", "values that cross tasks")
        if result:
            self._block("result", "Result", "what the kernel returns")
        if has_report:
            declared = f"{type_name(self.language, u32)} *" if self.language.has_pointers else "Report"
            self._pointer("report", "report", declared, "records of print and of checks", ("report",))
        for parameter in sorted(self.use.parameters, key=lambda p: p.position):
            self._parameter(parameter)
        shapes = self.use.shapes.items()
        for (owner, axis), name in sorted(shapes, key=lambda s: (isinstance(s[0][0], Texture), s[0][0].slot, s[0][1])):
            name = name or f"{owner.name}_n{axis if owner.ndim > 1 else ''}"
            note = f"{owner.name}.shape[{axis}]"
            kind = "texture_shape" if isinstance(owner, Texture) else "shape"
            self._add(name, (owner, axis), "i32", "int", note, [(kind, owner.slot, axis)], 4)
        for array in sorted((a for a in self.use.arrays if a.strided), key=lambda a: a.slot):
            for axis in range(array.ndim):
                self._stride(array, axis)
            if array.ndim and not self.language.has_pointers:
                note = f"{array.name}: its first element, from the one at the lowest address"
                self._add(f"{array.name}_begin", ("begin", array), "i32", "int", note, [("begin", array.slot)], 4)
        if self.use.random:
            declared = type_name(self.language, u32)
            self._add("seed", "seed", "u32", declared, "of the random numbers of this launch", [("seed",)], 4)
        return sorted(self.items, key=lambda item: -item.scalar_bytes)

    def _texture(self, texture: Texture) -> None:
        """Add what stands for a texture: CUDA fetches texels by another object than it samples by."""
        declared = self.language.texture_handles[texture.is_storage]
        by_texels = self.language.samples_by_object and (TextureFetch, texture) in self.use.texels
        if not by_texels or (TextureSample, texture) in self.use.texels:
            self._pointer(texture.name, texture, declared, describe_texture(texture), ("texture", texture.slot))
        if by_texels:
            note = f"{describe_texture(texture)}, by texels"
            key: object = ("texels", texture)
            self._pointer(f"{texture.name}_texels", key, declared, note, ("texels", texture.slot))
        if self.language.samples_by_object and not texture.is_storage:
            source = ("texture_channels", texture.slot)
            note = f"channels of {texture.name}: CUDA gives 0 for a missing alpha"
            self._add(f"{texture.name}_channels", ("channels", texture), "i32", "int", note, [source], 4)

    def is_of_cells(self, array: Array) -> bool:
        """Tell whether an array is reached through a member of a sparse node."""
        return self.cells is not None and array.role in (*CELL_MEMBERS, *COUNTERS, "cells")

    def _cells(self, need: Need, name: str, note: str) -> None:
        """Add a member of a sparse node."""
        assert self.cells is not None
        what, node = need
        declared = self.cells.declared(need)
        if what == "capacity":
            cells = sparse_array(self.kernel, node, "cells")
            self._add(name, need, "i32", declared, note, [("capacity", cells.slot)], 4)
            return
        array = sparse_array(self.kernel, node, "taken" if what == "pool" else what)
        self._pointer(name, need, declared or self.reference(u32, "uint"), note, ("pointer", array.slot))

    def _add(
        self, name: str, key: object, type: str, declared: str, note: str, sources: list[tuple[object, ...]], size: int
    ) -> None:
        if name in self.parameters and not isinstance(key, Parameter):
            name += "_"  # a macro that reaches memory by it would put an index there
        name = name if key in self.fixed else self.names.declare(name)
        self.items.append(_Item(name, key, type, declared, note, sources, size))

    def _stride(self, array: Array, axis: int) -> None:
        """Add the distance of elements along an axis: 64 bits wide, so that all of an index is, but in GLSL."""
        name = f"{array.name}_stride{axis if array.ndim > 1 else ''}"
        type, declared, size = ("i64", "long long", 8) if self.language.has_pointers else ("i32", "int", 4)
        note = f"{array.name}.strides[{axis}], in elements"
        self._add(name, ("stride", array, axis), type, declared, note, [("stride", array.slot, axis)], size)

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
        element = self.structs.type_text(array.element, True)
        if self.language.has_pointers:
            constant = "" if array in self.use.written else "const "
            return f"{constant}{element} *"
        return self.reference(array.element, element)

    def _tree_pointer(self, text: TreeSource) -> str:
        tree, single = text.tree, text.single
        if self.language.has_pointers:
            is_written = any(
                array.place is not None and memory_of(array.place) is text.part for array in self.use.written
            )
            return f"{'' if is_written else 'const '}{text.element} *"
        if single is not None:
            return self.reference(tree.elements[single], text.element)
        return self.struct_reference(text.element, elements_of(text))

    def _note(self, text: TreeSource) -> str:
        """Return what the comment beside a tree's pointer says: the arrays that lie there."""
        own = [a for a in self.use.arrays if a.place is not None and memory_of(a.place) is text.part]
        kinds = groupby(sorted(own, key=lambda a: a.slot), array_type)
        return ", ".join(f"{', '.join(a.name for a in alike)}: {kind}" for kind, alike in kinds)

    def struct_reference(self, element: str, types: Sequence[Type]) -> str:
        """Return the name of the GLSL buffer reference type that holds structs of `types`."""
        name = f"{element}Buffer"
        is_float = any(scalar.is_float for type in types for scalar in scalars_of(type))
        declared = f"{self.language.precise}{element}" if self.target.exact and is_float else element
        align = max(alignment_bytes(type) for type in types)
        self.references[name] = Reference(name, declared, align, any(has_matrix(type) for type in types))
        return name

    def reference(self, type: Type, element: str) -> str:
        """Return the name of the GLSL buffer reference type that holds `type`."""
        if isinstance(type, Struct):
            return self.struct_reference(element, [type])
        scalar = element_of(type)
        name = f"{BLOCK_NAMES[scalar.kind]}{scalar.bits}"
        align = scalar.size_bytes
        if isinstance(type, Tensor):
            name += "x" + "x".join(map(str, type.shape))
            size = type.size_bytes
            align = size if len(type.shape) == 1 and size in (4, 8, 16) else scalar.size_bytes
        self.references[name] = Reference(name, _precise(self.target, type, element), align, has_matrix(type))
        return name


def has_matrix(type: Type) -> bool:
    """Tell whether a part of `type` is a matrix of GLSL's own, which lies in memory row by row if it is told to."""
    parts = (part for part in parts_of(type) if isinstance(part, Tensor))
    return any(len(part.shape) == 2 and max(part.shape) <= 4 for part in parts)


def has_vector(type: Type) -> bool:
    """Tell whether a part of `type` is a vector or matrix."""
    return any(isinstance(part, Tensor) for part in parts_of(type))


def _scalar(name: str) -> Scalar:
    return SCALARS[name]


def layout(kernel: Kernel, target: Target, complete: bool = False, volatile: bool = False) -> Layout:
    """Lay out the arguments of `kernel` for `target`. complete: also those that no statement uses. volatile: mark
    memory so where components of vectors in it are used (`Capabilities.volatile_vectors`).
    """
    use = collect(kernel)
    if complete:
        use_all(kernel, use)
    results = kernel.returns
    structs = _structs(kernel, target, use)
    trees = _trees(kernel, target, use, structs)
    cells = _cells(kernel, target, structs, use, complete)
    members = _Members(kernel, target, use, structs, trees, cells)
    items = members.gather(bool(results))
    interface_members, numbers, size = _offsets(items)
    texts = {item.key: f"args.{item.name}" for item in items if item.key is not None}
    taken = taken_names(kernel, target, structs)
    structs_of_trees = frozenset(name for text in trees.values() for name in text.names)
    if cells is not None:
        cells.texts = {need: texts[need] for need, _, _ in cells.members()}
    reach = Reach(target, texts, trees, cells)
    found = accessors(use.arrays, use.shared, reach, taken | structs_of_trees)
    temporaries, temporary_members, temporary_offsets, temporaries_size = _temporaries(kernel, target, structs)
    result_fields, result_members, result_size = _result_layout(results, target, structs)
    parts = [part for type in _stored(kernel, use) for part in parts_of(type)]
    stored = [with_element(part, u8) if element_of(part) == u1 else part for part in parts]
    slots = tuple(_slot(array, use) for array in kernel.arrays)
    sites = tuple(describe_site(site, use.task_of[site]) for site in use.sites)
    textures = tuple(_texture_slot(texture, use) for texture in kernel.textures)
    interface = Interface(interface_members, size, slots, result_fields, result_size, temporaries_size, sites, textures)
    return Layout(
        interface=interface,
        declarations=[Declaration(item.declared, item.name, f"{_origin(item)}{item.note}") for item in items],
        accessors=found,
        cells=cells,
        data={
            array: texts[array if array.place is None else memory_of(array.place)]
            for array in use.arrays
            if array in texts or array.place is not None
        },
        parameters={p: texts[p] for p in use.parameters},
        shapes={key: texts[key] for key in use.shapes},
        textures=_texture_texts(kernel, target, texts, taken),
        strides={a: [texts["stride", a, k] for k in range(a.ndim)] for a in use.arrays if a.strided},
        begins={a: texts["begin", a] for a in use.arrays if ("begin", a) in texts},
        member_numbers=numbers,
        temporaries=temporaries,
        temporary_members=temporary_members,
        temporary_offsets=temporary_offsets,
        result_members=result_members,
        references=[
            replace(r, volatile=volatile and use.components, coherent=use.fences) for r in members.references.values()
        ],
        stored_types=stored,
        structs=structs,
        trees=trees,
        helpers=_declaring(target, use, stored, cells),
        memory_types=_stored(kernel, use),
        use=use,
    )


def _structs(kernel: Kernel, target: Target, use: Usage) -> Structs:
    """Return how the kernel's structs are written."""
    found = kernel.structs()
    if not found:
        return Structs(target.language, frozenset())
    temporaries = [temporary.type for temporary in kernel.temporaries]
    blocks_of_types = (kernel.returns, temporaries, *_in_trees(kernel, use))
    several = [type for block in blocks_of_types if len(block) > 1 for type in block]
    taken, members = taken_names(kernel, target) | target.language.reserved_types, no_members(kernel, target)
    return make_structs(target.language, _stored(kernel, use), several, found, taken, members)


def _trees(kernel: Kernel, target: Target, use: Usage, structs: Structs) -> dict[Node, TreeSource]:
    """Return how the trees are written in which arrays lie that the kernel uses."""
    types = Names(taken_names(kernel, target, structs) | target.language.reserved_types)
    members = no_members(kernel, target, structs) | parameters_of(kernel)
    parts = dict.fromkeys(memory_of(a.place) for a in sorted(use.arrays, key=lambda a: a.slot) if a.place is not None)
    return {part: write_tree(kernel.trees[top_of(part)], part, target, structs, types, members) for part in parts}


def _cells(kernel: Kernel, target: Target, structs: Structs, use: Usage, complete: bool) -> SparseSource | None:
    """Return how the sparse nodes are written that the kernel uses; None for the interpreter, which asks the arrays."""
    if complete or not any(is_sparse(place) for tree in kernel.trees.values() for place in tree.elements):
        return None
    cells = SparseSource(kernel, target, needs_of(kernel))
    cells.choose_names(taken_names(kernel, target, structs) | parameters_of(kernel))
    cells.writes |= {(array.role, array.node) for array in use.written if array.node is not None}
    return cells


def _in_trees(kernel: Kernel, use: Usage) -> list[list[Type]]:
    """Return the types of what lies in each part of a tree that the kernel uses."""
    parts = dict.fromkeys(memory_of(array.place) for array in use.arrays if array.place is not None)
    return [
        [type for place, type in kernel.trees[top_of(part)].elements.items() if memory_of(place) is part]
        for part in parts
    ]


def _stored(kernel: Kernel, use: Usage) -> list[Type]:
    """Return the types of what lies in memory."""
    arrays = [array.element for array in use.arrays]
    arrays += [type for types in _in_trees(kernel, use) for type in types]
    return [*arrays, *kernel.returns, *(temporary.type for temporary in kernel.temporaries)]


def _declaring(target: Target, use: Usage, stored: Iterable[Type], cells: SparseSource | None) -> list[str]:
    """Return the keys of what declares the types of members."""
    keys = [key for type in stored for key in storage_helpers(target.language, type)]
    for parameter in use.parameters:
        name = WIDENED.get(parameter.type.name) if isinstance(parameter.type, Scalar) else None
        keys += storage_helpers(target.language, SCALARS[name] if name else parameter.type)
    keys += type_helpers(target.language, u32) if use.random or use.sites else ()
    keys += target.language.texture_helpers if use.textures else ()
    keys += cells.type_helpers() if cells is not None else ()
    keys += ["Report"] if use.sites and use.has_records and not target.language.has_pointers else ()
    keys += ["clamp_index"] if any(array.clamped for array in use.arrays) else ()
    return [*keys, "report_start"] if use.sites else keys


def _origin(item: _Item) -> str:
    if isinstance(item.key, Array) and item.key.role in BESIDE:
        return f"{item.name.removesuffix('_' + item.key.role)}: "
    if isinstance(item.key, (Array, Parameter)):
        return f"{item.key.name}: "
    return ""


def _offsets(items: Iterable[_Item]) -> tuple[tuple[Member, ...], dict[object, int], int]:
    """Give every member its place; they are sorted by size, so there is no padding but at the end."""
    members: list[Member] = []
    numbers: dict[object, int] = {}
    offset = 0
    largest = 4
    for item in items:
        numbers[item.key] = len(members)
        size = item.scalar_bytes
        largest = max(largest, size)
        for k, source in enumerate(item.sources):
            name = item.name if len(item.sources) == 1 else f"{item.name}[{k}]"
            members.append(Member(name, item.type, offset, size, source))
            offset += size
    return tuple(members), numbers, -(-offset // largest) * largest


def _slot(array: Array, use: Usage) -> ArrayBinding:
    shape = array.element.shape if isinstance(array.element, Tensor) else ()
    element = described(array.element if isinstance(array.element, Struct) else element_of(array.element))
    return ArrayBinding(
        array.name, element, shape, array.ndim, array.shape, array.parameter,
        array in use.read, array in use.written, array.offset, _place_slot(array, use),
    )  # fmt: skip


def _texture_slot(texture: Texture, use: Usage) -> TextureBinding:
    kinds = {kind for kind, other in use.texels if other is texture}
    return TextureBinding(
        name=texture.name,
        parameter=texture.parameter,
        binding=texture.slot,
        ndim=texture.ndim,
        element=texture.element.name,
        format=None if texture.format is None else texture.format.name,
        storage=texture.is_storage,
        lod=texture.lod,
        read=bool(kinds & set(TEXEL_READS)),
        written=ImageStore in kinds,
    )


def _texture_texts(
    kernel: Kernel, target: Target, texts: dict[object, str], taken: frozenset[str]
) -> dict[object, str]:
    """Return what texts call textures: members of `args`, in GLSL variables of their own."""
    if target.language.has_pointers:
        return {key: texts[key] for t in kernel.textures for key in (t, *((part, t) for part in PARTS)) if key in texts}
    names = Names(taken | {text.partition("(")[0] for text in texts.values()})
    return {texture: names.declare(texture.name) for texture in kernel.textures}


def _place_slot(array: Array, use: Usage) -> TreeAddress | None:
    """Return where an array lies in the memory of its tree, whose pointer is that of the first array used of it."""
    if array.place is None or array not in use.arrays:
        return None
    part = memory_of(array.place)
    own = [other.slot for other in use.arrays if other.place is not None and memory_of(other.place) is part]
    digits = tuple(tuple(digit) for digit in index_components_of(array.place))
    cells = (most_cells(part), pool_cell_bytes(part)) if part.has_pool else ()
    return TreeAddress(min(own), begin_of(array.place), digits, cells)


def _temporaries(kernel: Kernel, target: Target, structs: Structs) -> _TemporaryLayout:
    names = Names(no_members(kernel, target, structs))
    texts: dict[Temporary, str] = {}
    offsets: dict[Temporary, int] = {}
    members: list[Declaration] = []
    offset = 0
    for temporary in kernel.temporaries:
        name = names.declare(temporary.name)
        texts[temporary] = f"args.temporaries{target.language.arrow}{name}"
        declared = _precise(target, temporary.type, structs.type_text(temporary.type, True))
        members.append(Declaration(declared, name, str(temporary.type)))
        offsets[temporary] = aligned(offset, alignment_bytes(temporary.type))
        offset = offsets[temporary] + temporary.type.size_bytes
    return texts, members, offsets, aligned(offset, 8)


def _result_layout(
    types: list[Type], target: Target, structs: Structs
) -> tuple[tuple[ResultField, ...], list[Declaration], int]:
    fields: list[ResultField] = []
    members: list[Declaration] = []
    offset = 0
    for number, type in enumerate(types):
        offset = aligned(offset, alignment_bytes(type))
        fields.append(_result_field(type, offset))
        name = "value" if len(types) == 1 else f"value_{number}"
        members.append(Declaration(_precise(target, type, structs.type_text(type, True)), name, str(type)))
        offset += type.size_bytes
    return tuple(fields), members, aligned(max(offset, 1), 8) if types else 0  # a struct may have no members


def _result_field(type: Type, offset: int) -> ResultField:
    if isinstance(type, Struct):
        starts, _ = struct_layout(type)
        inner = zip(type.members, starts, strict=True)
        parts = tuple((name, _result_field(member, offset + start)) for (name, member), start in inner)
        return ResultField(f"struct {type}", (), offset, parts)
    return ResultField(element_of(type).name, type.shape if isinstance(type, Tensor) else (), offset)
