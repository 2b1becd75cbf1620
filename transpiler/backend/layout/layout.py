"""Where a kernel's values lie: the members of `Args`, the accessor of each array, results and temporaries.

In: a kernel in final form. Out: a `Layout`: the `Interface` the launcher packs by, the declarations the templates
print, and the texts by which the printers reach arguments, extents and places in memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from ...ir.nodes import Statement
from ...ir.snodes import Node, is_sparse, memory_of, top_of
from ...ir.sparse import needs_of
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    Parameter,
    Temporary,
)
from ...ir.tasks import Kernel
from ...ir.textures import Texture
from ...ir.types import (
    SCALARS,
    Scalar,
    Type,
    element_of,
    parts_of,
    u1,
    u8,
    u32,
    with_element,
)
from ..languages.common.naming import Names
from ..languages.common.syntax import storage_helpers, type_helpers
from ..languages.common.target import Target
from ..module.interface import Interface
from ..module.record_sites import describe_site
from .accessors import Accessors, Reach, accessors
from .args_members import WIDENED, ArgsMembers, assign_offsets, owner_prefix
from .bindings import array_binding, texture_binding
from .declarations import Declaration, Reference
from .own_buffers import result_buffer, temporary_buffer
from .sparse_functions import SparseSource
from .structs import Structs, make_structs
from .tree_structs import TreeSource, write_tree
from .usage import Usage, collect, use_all
from .used_names import no_members, parameters_of, taken_names

PARTS = ("texels", "channels")
"""What CUDA's texts know of a texture beside the object it is sampled by."""


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
    members = ArgsMembers(kernel, target, use, structs, trees, cells)
    items = members.gather(bool(results))
    interface_members, numbers, size = assign_offsets(items)
    texts = {item.key: f"args.{item.name}" for item in items if item.key is not None}
    taken = taken_names(kernel, target, structs)
    structs_of_trees = frozenset(name for text in trees.values() for name in text.names)
    if cells is not None:
        cells.texts = {need: texts[need] for need, _, _ in cells.members()}
    reach = Reach(target, texts, trees, cells)
    found = accessors(use.arrays, use.shared, reach, taken | structs_of_trees)
    temporaries, temporary_members, temporary_offsets, temporaries_size = temporary_buffer(kernel, target, structs)
    result_fields, result_members, result_size = result_buffer(results, target, structs)
    parts = [part for type in _stored(kernel, use) for part in parts_of(type)]
    stored = [with_element(part, u8) if element_of(part) == u1 else part for part in parts]
    slots = tuple(array_binding(array, use) for array in kernel.arrays)
    sites = tuple(describe_site(site, use.task_of[site]) for site in use.sites)
    textures = tuple(texture_binding(texture, use) for texture in kernel.textures)
    interface = Interface(interface_members, size, slots, result_fields, result_size, temporaries_size, sites, textures)
    return Layout(
        interface=interface,
        declarations=[Declaration(item.declared, item.name, f"{owner_prefix(item)}{item.note}") for item in items],
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


def _texture_texts(
    kernel: Kernel, target: Target, texts: dict[object, str], taken: frozenset[str]
) -> dict[object, str]:
    """Return what texts call textures: members of `args`, in GLSL variables of their own."""
    if target.language.has_pointers:
        return {key: texts[key] for t in kernel.textures for key in (t, *((part, t) for part in PARTS)) if key in texts}
    names = Names(taken | {text.partition("(")[0] for text in texts.values()})
    return {texture: names.declare(texture.name) for texture in kernel.textures}
