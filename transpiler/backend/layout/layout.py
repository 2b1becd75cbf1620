"""Where a kernel's values are in memory: members of `Args`, accessors of arrays, trees, results and temporaries.

In: a kernel in final form. Out: a `Layout`: the `Interface` that the launcher packs by, the declarations that the
templates print, and the expressions by which the printers reach arguments, extents and memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain

from ...ir.constants import Key, launch_key
from ...ir.elements.own_memory import is_array_of_numbers, is_plain_field
from ...ir.nodes import Block, Statement, walk
from ...ir.snodes import Node, is_sparse, memory_of, top_of
from ...ir.sparse import node_uses
from ...ir.statements import (
    ArgLoad,
    Array,
    ArrayShape,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    Operation,
    Parameter,
)
from ...ir.tasks import Kernel
from ...ir.textures import Texture
from ...ir.types import (
    SCALARS,
    Scalar,
    Tensor,
    Type,
    element_of,
    parts_of,
    u1,
    u8,
    u32,
    with_element,
)
from ...lazy_dataclasses import dataclass
from ..languages.common.naming import Names
from ..languages.common.syntax import storage_helpers, type_helpers
from ..languages.common.syntax_forms import ASSIGN, Syntax
from ..languages.common.target import Target
from ..module.divisors import DIVISOR
from ..module.interface import Interface, Member
from ..module.record_sites import describe_site
from .accessors import Accessors, MemoryExpressions, accessors
from .alignment import aligned_structs, aligned_tensors, with_aligned_elements
from .args_members import WIDENED, ArgsMember, ArgsMembers, assign_offsets, fixed_members, owner_prefix
from .bindings import array_binding, texture_binding
from .constants import NamedConstants, named_constants
from .declarations import Declaration, Reference
from .neighbour_loads import by_variables, loads_apart, read_by_rows, storing_loops
from .own_buffers import ResultBuffer, TemporaryBuffer, result_buffer, temporary_buffer
from .sparse_functions import SparseSource
from .structs import Structs, make_structs
from .tree_structs import TreeSource, write_tree
from .usage import Usage, collect, use_all
from .used_names import no_members, parameters_of, taken_names

TEXTURE_PARTS = ("texels", "channels")
"""Members of `Args` that CUDA has for a texture in addition to the object that it samples."""


DIVISIONS = {"plain_div": "divide", "plain_mod": "remainder_by", "floordiv": "floor_div_by", "mod": "mod_by"}
"""The functions of divisions by what the launch packs."""


@dataclass(slots=True)
class Layout:
    """interface, and all expressions and declarations that depend on it.

    declarations: members of `Args` in order. aligned: vectors and matrices of which several elements are
    loaded at once. declared: the types of the members that are pointers to arrays. copies_members: a member of `Args`
    is an argument of a call only as a copy.
    """

    interface: Interface
    declarations: list[Declaration]
    accessors: Accessors
    cells: SparseSource | None
    parameters: dict[Parameter, str]
    data: dict[Array, str]
    shapes: dict[tuple[Array | Texture, int], str]
    textures: dict[object, str]
    strides: dict[Array, list[str]]
    first_elements: dict[Array, str]
    member_numbers: dict[object, int]
    temporaries: TemporaryBuffer
    results: ResultBuffer
    references: list[Reference]
    stored_types: list[Type]
    structs: Structs
    trees: dict[Node, TreeSource]
    helpers: list[str]
    memory_types: list[Type]
    aligned: frozenset[Tensor]
    usage: Usage
    constants: NamedConstants
    memory: MemoryExpressions
    declared: dict[Array, str]
    divisors: dict[Key, str]
    report: str = "args.report"
    copies_members: bool = False

    @property
    def macro_names(self) -> list[str]:
        """The names of the macros that take a cell or give several neighbours, and of the macros and functions of
        sparse nodes."""
        inside = [name for name, _ in (*self.accessors.inside.values(), *self.accessors.wide.values())]
        return inside + (self.cells.identifiers() if self.cells is not None else [])

    def division(self, operation: Operation) -> Syntax:
        """Return the syntax of a division by what the launch packs."""
        key = launch_key(operation.operands[1])
        assert key is not None
        name, by = DIVISIONS[operation.op], self.divisors[key]
        if name == "divide":
            return Syntax(f"int(divide({{0}}, {by}))", operand_precedence=(ASSIGN,), helpers=(name,))
        return Syntax(f"{name}({{0}}, {{1}}, {by})", operand_precedence=(ASSIGN, ASSIGN), helpers=(name,))

    def expression_of(self, statement: Statement) -> tuple[object, ...] | None:
        """Return ("member", k) for an argument or extent that the host packs."""
        key: object = statement.parameter if isinstance(statement, ArgLoad) else None
        if isinstance(statement, ArrayShape):
            key = (statement.array, statement.axis)
        number = self.member_numbers.get(key)
        return None if number is None else ("member", number)


def layout(kernel: Kernel, target: Target, complete: bool = False, volatile: bool = False) -> Layout:
    """Lay out the arguments of `kernel` for `target`.

    Args:
        complete: include arguments that no statement uses.
        volatile: declare memory volatile if components of vectors in it are used (`Capabilities.volatile_vectors`).
    """
    usage = collect(kernel)
    if complete:
        use_all(kernel, usage)
    structs = _structs(kernel, target, usage)
    trees = _trees(kernel, target, usage, structs)
    cells = _cells(kernel, target, structs, usage, complete)
    members = ArgsMembers(kernel, target, usage, structs, trees, cells)
    items = members.gather()
    interface_members, numbers, size = assign_offsets(items, target.language)
    expressions = {item.key: f"args.{item.name}" for item in items if item.key is not None}
    taken = taken_names(kernel, target, structs)
    structs_of_trees = frozenset(name for tree in trees.values() for name in tree.names)
    if cells is not None:
        cells.expressions = {need: expressions[need] for need, _, _ in cells.members()}
    taken_by_types = taken | structs_of_trees if structs_of_trees else taken
    constants = named_constants(kernel, (*usage.arrays, *usage.shared), taken_by_types)
    memory_types = _stored(kernel, usage)
    aligned = aligned_tensors(target, usage, memory_types)
    memory = MemoryExpressions(target, expressions, trees, cells, constants, members.wide)
    _complete(memory, kernel, usage, members, {*structs.aligned, *aligned})
    names = taken_by_types.union(constants.numbers)
    macros = accessors(usage.arrays, usage.shared, memory, names, {a for t in kernel.tasks for a in t.block_sums})
    temporaries, results = temporary_buffer(kernel, target, structs), result_buffer(kernel.returns, target, structs)
    stored = _memory_parts(memory_types)
    interface = _interface(kernel, usage, interface_members, size, results, temporaries)
    return Layout(
        interface=interface,
        declarations=_declarations(items, interface_members, target),
        accessors=macros,
        cells=cells,
        data=_pointers(usage, expressions),
        parameters={p: expressions[p] for p in usage.parameters},
        shapes={key: expressions[key] for key in usage.shapes},
        textures=_texture_names(kernel, target, expressions, taken),
        strides={a: [expressions["stride", a, k] for k in range(a.ndim)] for a in usage.arrays if a.strided},
        first_elements={a: expressions["begin", a] for a in usage.arrays if ("begin", a) in expressions},
        member_numbers=numbers,
        temporaries=temporaries,
        results=results,
        references=_references(members, usage, volatile),
        stored_types=stored,
        structs=structs,
        trees=trees,
        helpers=_declaring(memory, usage, [*stored, *usage.wide.values(), *usage.words.values()]),
        memory_types=memory_types,
        aligned=aligned,
        usage=usage,
        constants=constants,
        memory=memory,
        declared={item.key: item.declared for item in items if isinstance(item.key, Array)},
        divisors={key: expressions[key] for key in usage.divisors},
    )


def _complete(
    memory: MemoryExpressions, kernel: Kernel, usage: Usage, members: ArgsMembers, aligned: Collection[Type]
) -> None:
    """Add which arrays have other accesses than by elements. aligned: types that are so by themselves."""
    memory.flat, memory.words, memory.rows = frozenset(usage.flat), members.words, members.rows
    memory.read_only = _read_only(kernel, usage)
    memory.apart = loads_apart(kernel)
    memory.by_elements = with_aligned_elements(memory.target, usage, aligned)
    if memory.target.language.field_start:
        rows = read_by_rows(kernel, usage)
        in_variables = by_variables(kernel, rows, memory.read_only)
        memory.variables = {item.key: item.name for item in members.items if item.key in in_variables}
        memory.by_rows = rows - (memory.read_only - in_variables)  # what `__ldg` loads is not joined


def _references(members: ArgsMembers, usage: Usage, volatile: bool) -> list[Reference]:
    """Return the declared references. volatile: for memory of vectors whose components are used."""
    return [
        replace(reference, volatile=volatile and usage.components, coherent=usage.fences)
        for reference in members.references.references.values()
    ]


def _interface(
    kernel: Kernel,
    usage: Usage,
    members: tuple[Member, ...],
    size: int,
    results: ResultBuffer,
    temporaries: TemporaryBuffer,
) -> Interface:
    """Return what a launcher must know."""
    arrays = tuple(array_binding(array, usage) for array in kernel.arrays)
    sites = tuple(describe_site(site, usage.task_of[site]) for site in usage.sites)
    textures = tuple(texture_binding(texture, usage) for texture in kernel.textures)
    sizes = results.fields, results.size_bytes, temporaries.size_bytes
    return Interface(members, size, arrays, *sizes, sites, textures)


def _declarations(items: Sequence[ArgsMember], members: Sequence[Member], target: Target) -> list[Declaration]:
    """Return the declarations of the members of `Args`, with their comments."""
    first = {m.name.partition("[")[0]: m.offset_bytes for m in reversed(members)} if target.offsets else {}
    offsets = {name: f", at byte {offset}" for name, offset in first.items()}
    return [Declaration(i.declared, i.name, f"{owner_prefix(i)}{i.note}{offsets.get(i.name, '')}") for i in items]


def _structs(kernel: Kernel, target: Target, usage: Usage) -> Structs:
    """Return how the kernel's structs are declared."""
    used = kernel.structs()
    if not used:
        return Structs(target.language, frozenset())
    temporaries = [temporary.type for temporary in kernel.temporaries]
    blocks_of_types = (kernel.returns, temporaries, *_in_trees(kernel, usage))
    several = [type for block in blocks_of_types if len(block) > 1 for type in block]
    taken = taken_names(kernel, target).union(target.language.reserved_types, fixed_members(kernel, usage))
    members = no_members(kernel, target)
    aligned = aligned_structs(kernel, target, usage, _in_trees(kernel, usage))
    return make_structs(target.language, _stored(kernel, usage), several, used, aligned, taken, members)


def _read_only(kernel: Kernel, usage: Usage) -> frozenset[Array]:
    """Return the arrays that no task writes, and that tasks with overlapping loads read, or serial loops that store.

    Of split fields (SoA) those, too, that a task with several stores reads: a copy of 27 parts would wait 27 times.
    A compiler does not know that what such a loop stores is not what it loads next: a thread waits for each load. Two
    loops over 1,024 columns of 16,384 floats took an H200 6.4 ms; where that is known, as on Vulkan, they take 1.3.
    """
    if usage.fences:
        return frozenset()
    loads = (s for s in chain.from_iterable(storing_loops(kernel)) if isinstance(s, GlobalLoad))
    read = {load.pointer.array for load in loads if isinstance(load.pointer, GlobalPtr)}
    split = {array for task in kernel.tasks for array in _read_among_stores(task.body) if is_array_of_numbers(array)}
    return frozenset(split - usage.written).union(array for array in read - usage.written if is_plain_field(array))


def _read_among_stores(body: Block) -> list[Array]:
    """Return the arrays that a body with several stores loads from, perhaps after the first of these."""
    statements = list(walk(body))
    if sum(isinstance(statement, GlobalStore) for statement in statements) < 2:
        return []
    loads = (statement for statement in statements if isinstance(statement, GlobalLoad))
    return [load.pointer.array for load in loads if isinstance(load.pointer, GlobalPtr)]


def _trees(kernel: Kernel, target: Target, usage: Usage, structs: Structs) -> dict[Node, TreeSource]:
    """Return how the trees are declared that hold arrays which the kernel uses, by part."""
    parts = dict.fromkeys(
        memory_of(a.place) for a in sorted(usage.arrays, key=lambda a: a.binding) if a.place is not None
    )
    if not parts:
        return {}
    types = Names(taken_names(kernel, target, structs) | target.language.reserved_types)
    members = no_members(kernel, target, structs) | parameters_of(kernel)
    return {part: write_tree(kernel.trees[top_of(part)], part, target, structs, types, members) for part in parts}


def _cells(kernel: Kernel, target: Target, structs: Structs, usage: Usage, complete: bool) -> SparseSource | None:
    """Return the source of the sparse nodes that the kernel uses; None for the interpreter."""
    if complete or not any(is_sparse(place) for tree in kernel.trees.values() for place in tree.elements):
        return None
    cells = SparseSource(kernel, target, node_uses(kernel))
    cells.choose_names(taken_names(kernel, target, structs) | parameters_of(kernel))
    cells.writes |= {(array.role, array.node) for array in usage.written if array.node is not None}
    return cells


def _in_trees(kernel: Kernel, usage: Usage) -> list[list[Type]]:
    """Return the types of the fields in each part of a tree that the kernel uses."""
    parts = dict.fromkeys(memory_of(array.place) for array in usage.arrays if array.place is not None)
    return [
        [type for place, type in kernel.trees[top_of(part)].elements.items() if memory_of(place) is part]
        for part in parts
    ]


def _stored(kernel: Kernel, usage: Usage) -> list[Type]:
    """Return the types of all that is stored in memory."""
    arrays = [array.element for array in usage.arrays]
    arrays += [type for types in _in_trees(kernel, usage) for type in types]
    return [*arrays, *kernel.returns, *(temporary.type for temporary in kernel.temporaries)]


def _memory_parts(types: Iterable[Type]) -> list[Type]:
    """Return the parts of stored types; u1 is a byte there."""
    parts = [part for type in types for part in parts_of(type)]
    return [with_element(part, u8) if element_of(part) == u1 else part for part in parts]


def _pointers(usage: Usage, expressions: dict[object, str]) -> dict[Array, str]:
    """Return the expressions of the pointers by which arrays are reached, in a tree that of its part."""
    keys = {array: array if array.place is None else memory_of(array.place) for array in usage.arrays}
    return {array: expressions[key] for array, key in keys.items() if array in expressions or array.place is not None}


def _declaring(memory: MemoryExpressions, usage: Usage, stored: Iterable[Type]) -> list[str]:
    """Return the keys of the helpers that declare the types of members, and of those in macros."""
    target, cells = memory.target, memory.cells
    keys = [key for type in stored for key in storage_helpers(target.language, type)]
    for parameter in usage.parameters:
        name = WIDENED.get(parameter.type.name) if isinstance(parameter.type, Scalar) else None
        keys += storage_helpers(target.language, SCALARS[name] if name else parameter.type)
    keys += type_helpers(target.language, u32) if usage.random or usage.sites else ()
    keys += target.language.texture_helpers if usage.textures else ()
    keys += cells.type_helpers() if cells is not None else ()
    keys += ["Report"] if usage.sites and usage.has_records and not target.language.has_pointers else ()
    keys += ["aligned"] if memory.by_rows or memory.by_elements else ()
    keys += [DIVISOR] if usage.divisors else ()
    keys += ["clamp_index"] if any(array.clamped for array in usage.arrays) else ()
    return [*keys, "report_start"] if usage.sites else keys


def _texture_names(
    kernel: Kernel, target: Target, expressions: dict[object, str], taken: frozenset[str]
) -> dict[object, str]:
    """Return the expressions of textures: members of `args`, or variables in GLSL."""
    if target.language.has_pointers:
        keys = [key for t in kernel.textures for key in (t, *((part, t) for part in TEXTURE_PARTS))]
        return {key: expressions[key] for key in keys if key in expressions}
    names = Names(taken | {expression.partition("(")[0] for expression in expressions.values()})
    return {texture: names.declare(texture.name) for texture in kernel.textures}
