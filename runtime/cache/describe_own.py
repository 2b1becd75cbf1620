"""Descriptions of shadesmith's own objects for keys: types, vectors, structs, fields, ndarrays, trees of nodes.

An array is described by what determines the source: elements, shape, layout and position in a tree, but not by its
contents or address.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from ...transpiler.frontend.source.definition import KernelDefinition
from ...transpiler.ir.snodes import Node, is_sparse_tree, top_of
from ...transpiler.ir.types import Scalar, Struct, Tensor, Type
from ...transpiler.lang import struct as lang
from ...transpiler.lang.functions import ndrange
from ...transpiler.lang.matrix import Matrix, Vector
from ...transpiler.lang.meshes import ELEMENTS
from ...transpiler.lang.packs import ArgPack, ArgPackType
from ..arrays.dense_array import DenseArray
from ..arrays.ndarray import MatrixNdarray, ScalarNdarray, StructNdarray
from ..config import Config
from ..fields.field import MatrixField, ScalarField, StructField
from ..fields.quantized import QuantizedField, QuantizedMatrixField, WordField
from ..fields.snodes import SNode, field_of, fields_in_tree
from ..session.taichi_program import Program, Runtime
from .walk import Walk

MAX_ARRAY_BYTES = 1 << 25
"""Size limit of a described NumPy array; the digest of this many bytes takes 20 ms."""
HASHED_BYTES = 256
"""Contents longer than this are described by a digest."""
OWN_ATTRIBUTES = frozenset(
    {"function", "in_python", "inline", "is_real", "snippets", "__wrapped__", *functools.WRAPPER_ASSIGNMENTS}
)
"""Attributes that shadesmith sets on functions and kernels; a program has set all others."""


def describe(walk: Walk, value: Any) -> str:
    """Return a description of an object whose class is shadesmith's."""
    definition = getattr(getattr(value, "kernel", value), "definition", None)
    if isinstance(definition, KernelDefinition):
        return _kernel(walk, value, definition)
    if hasattr(type(value), "describe_elements"):
        return _elements(walk, value)
    if hasattr(type(value), "get_position_as_numpy"):
        return _mesh(walk, value)
    if is_dataclass(value):
        return _data(walk, value)
    name = getattr(value, "__qualname__", None)
    return f"own {name}" if isinstance(name, str) else walk.cannot(value)


def argument(walk: Walk, value: Any) -> str:
    """Return the description of an argument's type."""
    return _data(walk, value)


def content_of_base(walk: Walk, value: Any) -> str:
    """Return the contents that an object of a program's class has from a base class of shadesmith."""
    if isinstance(value, Matrix):
        return contents(walk, value.entries)
    if isinstance(value, (DenseArray, SNode, lang.Struct, ArgPack)):
        walk.cannot(value)
    return ""


def name_of_type(walk: Walk, type: Type) -> str:
    """Return a type with its members and methods."""
    if isinstance(type, Scalar):
        return type.name
    if isinstance(type, Tensor):
        return f"{type.element}{type.shape}"
    if not isinstance(type, Struct):
        return _data(walk, type)
    members = ", ".join(f"{name}: {name_of_type(walk, member)}" for name, member in type.members)
    origin = "" if type.origin is None else walk.of(type.origin)
    return f"struct {type.name!r}{{{members}}} {origin}"


def _type(walk: Walk, value: Any) -> str:
    return f"type {name_of_type(walk, value)}"


@lru_cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(member.name for member in fields(kind))


def _data(walk: Walk, value: Any) -> str:
    """Describe one of shadesmith's dataclasses by its members."""
    kind: Any = type(value)
    names = _names_of(kind)
    descriptions = walk.inside(value, [getattr(value, name) for name in names])
    return f"{kind.__qualname__}({', '.join(map('='.join, zip(names, descriptions, strict=True)))})"


def _kernel(walk: Walk, value: Any, definition: KernelDefinition) -> str:
    """Describe a kernel. Kernels cannot call it, and may read only attributes that the program set."""
    _, is_new = walk.number(value)
    attributes = own_attributes(value) if is_new and hasattr(value, "definition") else {}
    if attributes:
        walk.defer_members(value, lambda: attributes)
    return f"kernel {definition.function.__qualname__}"


def own_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes that the program set on a function or kernel."""
    members = vars(value)
    names = members.keys() - OWN_ATTRIBUTES
    if hasattr(value, "definition"):
        names -= {*type(value).__init__.__code__.co_names}
    return {name: members[name] for name in names}


# --- values -----------------------------------------------------------------------------------------------------------


def contents(walk: Walk, value: np.ndarray[Any, Any]) -> str:
    """Return type, shape and contents of a NumPy array."""
    if value.dtype.hasobject or value.nbytes > MAX_ARRAY_BYTES:
        return walk.cannot(value, "a NumPy array of objects" if value.dtype.hasobject else "a very large NumPy array")
    data = value.tobytes()
    shown = data.hex() if len(data) <= HASHED_BYTES else f"sha256 {sha256(data).hexdigest()}"
    return f"{value.dtype!r} {value.shape} {value.strides} {value.flags.num} {np.get_printoptions()} {shown}"


def _matrix(walk: Walk, value: Matrix) -> str:
    number, is_new = walk.number(value)
    name = f"{type(value).__name__}#{number}"
    return f"{name} {contents(walk, value.entries)}" if is_new else name


def _struct(walk: Walk, value: lang.Struct) -> str:
    number, is_new = walk.number(value)
    if not is_new:
        return f"struct#{number}"
    parts = [dict(value.items), lang.type_of_struct(value)]
    return f"struct#{number}{walk.inside(value, parts)}{_methods(walk, value)}"


def _struct_type(walk: Walk, value: lang.StructType) -> str:
    number, is_new = walk.number(value)
    name = f"structtype#{number}"
    if not is_new:
        return name
    return f"{name} {value.known_name()!r}{walk.inside(value, [value.members])}{_methods(walk, value)}"


def _methods(walk: Walk, owner: Any) -> str:
    """Describe the functions of a struct: kernels build undecorated ones too, and Python may run them."""
    found = []
    for name, method in owner.methods.items():
        outer, walk.owner = walk.owner, owner
        plain = method.__func__ if isinstance(method, (staticmethod, classmethod)) else method
        if isinstance(plain, FunctionType):
            running = walk.also_runs(plain)
            found.append(f"{name}: {type(method).__name__} {walk.function(plain, runs=False)}")
            if walk.reader is not None:
                walk.reach.setdefault(id(walk.reader), set()).add(id(running))
        else:
            found.append(f"{name}: {walk.of(method)}")
        walk.owner = outer
    return f"{{{', '.join(found)}}}"


def _pack_type(walk: Walk, value: ArgPackType) -> str:
    return f"pack {walk.inside(value, [value.members])}"


def _pack(walk: Walk, value: ArgPack) -> str:
    number, is_new = walk.number(value)
    return f"pack#{number}{walk.inside(value, [vars(value)]) if is_new else ''}"


def _ndrange(walk: Walk, value: ndrange) -> str:
    return f"ndrange {value.bounds}"


def is_array(value: Any) -> bool:
    """Return whether an object has contents that launches change."""
    kind = type(value)
    return hasattr(kind, "describe_array") or hasattr(kind, "describe_cells")


def holds_array(value: Any, depth: int = 0) -> bool:
    """Return whether an object is an array, a collection that contains one, or a function bound to one."""
    kind = type(value)
    if is_array(value) or kind not in COLLECTIONS or depth > MAX_DEPTH:
        return is_array(value)
    return any(holds_array(item, depth + 1) for item in COLLECTIONS[kind](value))


MAX_DEPTH = 8
COLLECTIONS: dict[type, Callable[[Any], Iterable[Any]]] = {
    **dict.fromkeys((list, tuple, set, frozenset, deque), iter),
    **dict.fromkeys((dict, OrderedDict, defaultdict), lambda value: value.values()),
    lang.Struct: lambda value: (item for _, item in value.items),
    MethodType: lambda value: (value.__self__,),
    functools.partial: lambda value: (value.func, *value.args, *value.keywords.values()),
}
"""Functions that return the items of a collection, by its class."""


def _session(walk: Walk, value: Any) -> str:
    """Describe an object that gives access to the options of the session."""
    describe_config(walk)
    return f"session {type(value).__name__}"


def describe_config(walk: Walk) -> None:
    """Describe those options of the session whose names occur."""
    config = walk.config
    _, is_new = walk.number(config)
    if is_new:
        walk.defer_members(config, lambda: {name: getattr(config, name) for name in _names_of(Config)})


# --- arrays -----------------------------------------------------------------------------------------------------------


def _field(walk: Walk, value: Any) -> str:
    walk.arrays.add(id(value))
    number, is_new = walk.number(value)
    name = f"field#{number}"
    if not is_new:
        return name
    outer, walk.owner = walk.owner, value
    element = name_of_type(walk, value.element)
    text = f"{name} {type(value).__name__} {value.name!r} {element}"
    words = getattr(value, "words", None) if value.is_placed else None
    if words is not None:
        text += f" {value.shape} {value.offset} {value.packing} in {walk.of(words)} {_node(walk, words.node)}"
    elif value.is_placed:
        text += f" {value.shape} {value.offset} {value.path} {_node(walk, value.node)}"
        if value.owner is not None:
            text += f" of {walk.of(value.owner)}"
    parts = [(step, walk.of(part)) for step, part in value.describe_parts()]
    members = [walk.of(field) for field in getattr(value, "members", ()) and value.living_members()]  # they name it
    walk.owner = outer
    walk.defer_members(value, lambda: {"grad": value.grad, "dual": value.dual})
    return f"{text} {parts}{members}" if parts or members else text


def _ndarray(walk: Walk, value: Any) -> str:
    walk.arrays.add(id(value))
    number, is_new = walk.number(value)
    name = f"ndarray#{number}"
    if not is_new:
        return name
    outer, walk.owner = walk.owner, value
    found = value.describe_array()
    element = name_of_type(walk, found.element)
    text = f"{name} {type(value).__name__} {value.name!r} {element} {found.shape} {found.path}"
    text += f" {found.strided} {walk.of(found.owner)}"
    walk.owner = outer
    walk.defer_members(value, lambda: {"grad": value.grad})
    return text


def _elements(walk: Walk, value: Any) -> str:
    """Describe the elements of a mesh by their number and the fields that lead to others."""
    number, is_new = walk.number(value)
    if not is_new:
        return f"elements#{number}"
    walk.defer_members(value, lambda: {"mesh": value.mesh})
    return f"elements#{number} {walk.inside(value, [value.describe_elements()])[0]}"


def _mesh(walk: Walk, value: Any) -> str:
    """Describe a mesh by its elements."""
    number, is_new = walk.number(value)
    return f"mesh#{number} {walk.inside(value, [getattr(value, name) for name in ELEMENTS]) if is_new else ''}"


def _snode(walk: Walk, value: SNode) -> str:
    walk.arrays.add(id(value))
    number, is_new = walk.number(value)
    name = f"node#{number}"
    if not is_new:
        return name
    if value.node is None:
        return walk.cannot(value, "a root of fields")
    outer, walk.owner = walk.owner, value
    field = field_of(value)
    text = f"{name} {_node(walk, value)} {walk.of(field)}"
    walk.owner = outer
    return text


# --- trees ------------------------------------------------------------------------------------------------------------


def _node(walk: Walk, value: SNode) -> str:
    """Return the location of a node: the number of its tree, which is described with its first node, and the path."""
    node = value.node
    if node is None:
        return "root"
    top = top_of(node)
    if value.memory is None:  # the node of a field with a tree of its own
        return f"own {_shape_text(walk, top)}"
    if top not in walk.trees:
        number = len(walk.trees)
        walk.trees[top] = number, value.memory
        walk.record(f"tree#{number} {_shape_text(walk, top)}")
        if is_sparse_tree(top):  # a node gives access to all fields, by appending to one
            walk.record(f"tree#{number} holds {[walk.of(field) for field in fields_in_tree(value)]}")
    return f"tree#{walk.trees[top][0]}{path_from_top(node)}"


def _shape_text(walk: Walk, node: Node) -> str:
    element = "" if node.element is None else name_of_type(walk, node.element)
    children = "".join(_shape_text(walk, child) for child in node.children)
    return f"({node.kind} {node.name!r} {node.axes} {node.extents} {node.chunk} {element}{children})"


def path_from_top(node: Node) -> tuple[int, ...]:
    """Return the indices of children on the path from the top of the tree to a node."""
    found: list[int] = []
    while node.parent is not None:
        found.append(next(k for k, child in enumerate(node.parent.children) if child is node))
        node = node.parent
    return tuple(reversed(found))


def node_at(top: Node, path: tuple[int, ...]) -> Node:
    """Return the node at the end of a path from the top of a tree. Raises: IndexError."""
    for position in path:
        top = top.children[position]
    return top


def describe_sight(walk: Walk) -> None:
    """Record the variables that are visible to the kernel and refer to nodes of its trees: sources use these names."""
    if not walk.trees:
        return
    scopes: list[Mapping[str, Any]] = [*walk.sights.values(), *(vars(value) for value in walk.oriented)]
    for number, scope in enumerate(scopes):
        for name, value in list(scope.items()):
            for path, part in _with_parts((name,), value):
                node = part.describe_node()
                if node is not None and top_of(node) in walk.trees:
                    walk.record(f"sight {number} {path} tree#{walk.trees[top_of(node)][0]}{path_from_top(node)}")


def _with_parts(path: tuple[Any, ...], value: Any) -> Iterator[tuple[tuple[Any, ...], Any]]:
    if hasattr(type(value), "describe_node"):
        yield path, value
    if hasattr(type(value), "describe_parts"):
        for step, part in value.describe_parts():
            yield from _with_parts((*path, step), part)


HANDLERS: dict[type, Callable[[Any, Any], str]] = {
    Scalar: _type,
    Tensor: _type,
    Struct: _type,
    Matrix: _matrix,
    Vector: _matrix,
    lang.Struct: _struct,
    lang.StructType: _struct_type,
    ArgPackType: _pack_type,
    ArgPack: _pack,
    ndrange: _ndrange,
    Config: _session,
    Program: _session,
    Runtime: _session,
    ScalarField: _field,
    MatrixField: _field,
    StructField: _field,
    QuantizedField: _field,
    QuantizedMatrixField: _field,
    WordField: _field,
    ScalarNdarray: _ndarray,
    MatrixNdarray: _ndarray,
    StructNdarray: _ndarray,
    SNode: _snode,
}
"""Functions that describe objects of exactly these classes; other dataclasses are described by their members."""
