"""`ti.root` and `ti.FieldsBuilder`: the trees of nodes in which fields without a shape are placed.

In: `ti.root.dense(ti.ij, (4, 8)).place(x)`. Out: the shape of `x`, and the addresses of its elements once the tree has
memory (`tree_memory.py`). A field's axes are those of its nodes, from `ti.i` on; the extents of an axis that is split
over several nodes multiply. Each child of a root is a separate tree with one allocation.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from operator import index as as_index
from typing import Any, NoReturn
from weakref import WeakSet, ref

from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.ir.snodes import Node, axes_of, cell_size_bytes, is_sparse_tree, member_offsets, shape_of
from ...transpiler.ir.types import Scalar, Type, scalars_of, u1
from ...transpiler.lang.describe import ArrayDescription, NodeDescription
from ...transpiler.lazy_dataclasses import dataclass
from ..session.session import active, current
from ..session.tracebacks import hides_own_frames_of
from .tree_memory import TreeMemory

MAX_AXES = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an index. number: 0 for `ti.i`, the first."""

    number: int

    def __repr__(self) -> str:
        return f"ti.{chr(ord('i') + self.number)}"


def axes(*numbers: int) -> list[Axis]:
    """Return the axes of these numbers, as `ti.ij` is `ti.axes(0, 1)`. Raises: ValueError for one out of range.

    Example:
        >>> ti.axes(0, 1) == ti.ij
        True
    """
    for number in numbers:
        if not 0 <= number < MAX_AXES:
            raise ValueError(f"an axis has a number from 0 to {MAX_AXES - 1}, and {number} was given")
    return [Axis(number) for number in numbers]


AXES = {
    name: axes(*(ord(letter) - ord("i") for letter in name))
    for name in ("i", "j", "k", "l", "ij", "ik", "il", "jk", "jl", "kl", "ijk", "ijl", "ikl", "jkl", "ijkl")
}
"""`ti.i`, `ti.ij`, ...: lists of axes by name."""


class SNode:
    """A node of the tree of fields. kind: "root", "dense", ..., or "place" (a field's node, a leaf).

    node: its description for the compiler, None for a root.
    parent: the node above, None for a root. memory: of its tree. Programs get nodes from `ti.root` and `FieldsBuilder`.

    Example:
        >>> x = ti.field(ti.f32)
        >>> block = ti.root.dense(ti.i, 4).place(x)
        >>> x.parent().shape
        (4,)
    """

    __slots__ = ("__weakref__", "_children", "_field", "_parent", "memory", "node")

    def __init__(self, parent: SNode | None, node: Node | None, memory: TreeMemory | None = None) -> None:
        self._parent = parent
        self.node = node
        self.memory = memory
        self._children: list[SNode] = []
        self._field: Any = None

    @property
    def kind(self) -> str:
        """The kind of node, which defines how cells are stored."""
        return "root" if self.node is None else self.node.kind

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents by axis, from the lowest axis on."""
        return () if self.node is None else shape_of(self.node)

    @property
    def name(self) -> str:
        """The name of the field if this is a field's node, else empty."""
        return self._name

    @property
    def _name(self) -> str:
        field = self._field_here()
        return "" if field is None else str(field.name)

    @property
    def dtype(self) -> Scalar | None:
        """Number type of a field's node, None for others."""
        return self._dtype

    @property
    def _dtype(self) -> Scalar | None:
        return None if self.node is None or self.node.element is None else next(scalars_of(self.node.element))

    @property
    def _cell_size_bytes(self) -> int:
        if self.node is None:
            return member_offsets(self._nodes())[1]
        return 0 if self.node.kind == "place" else cell_size_bytes(self.node)

    @property
    def _offset_bytes_in_parent_cell(self) -> int:
        if self.node is None or self._parent is None:
            return 0
        siblings = self._parent._nodes()
        return member_offsets(siblings)[0][siblings.index(self.node)] if self.node in siblings else 0

    @property
    def _num_dynamically_allocated(self) -> int:
        return self.num_dynamically_allocated

    @property
    def num_dynamically_allocated(self) -> int:
        """Active cells that have memory (chunks of a dynamic node); 0 for nodes whose cells always have memory."""
        if self.node is None or not self.node.has_pool or self.memory is None or not self.is_complete:
            return 0
        tree = self.memory.sparse()
        return int(tree.get(self.node, "taken") - tree.get(self.node, "freed"))

    @property
    def is_complete(self) -> bool:
        """Whether the tree has memory and therefore takes no more nodes."""
        return self.memory is not None and self.memory.is_allocated

    def _get_children(self) -> list[SNode]:
        return list(self._children)

    def _field_here(self) -> Any:
        """Return the field of this node, if it is a field's node and the field is alive."""
        return None if self._field is None else self._field()

    def _nodes(self) -> list[Node]:
        return [child.node for child in self._children if child.node is not None]

    def parent(self, n: int = 1) -> SNode | None:
        """Return the node `n` levels up; None above the root."""
        node: SNode | None = self
        for _ in range(n):
            node = node._parent if node is not None else None
            if node is not None and node.node is not None and not node.node.axes:
                node = node._parent  # the one cell of a root, which users do not see
        return node

    @hides_own_frames_of(TypeError, ValueError)
    def dense(self, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Add a node of `dimensions` cells along `axes`; a single number applies to every axis.

        Raises: TypeError if `axes` are not axes; ValueError if the number of extents differs from that of axes;
        TaichiRuntimeError for an extent below 1, and if the tree has memory already.
        """
        return self._split("dense", axes, dimensions)

    @hides_own_frames_of(TypeError, ValueError)
    def pointer(self, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Add a node whose cells have memory only while they are active. Parameters and errors as for `dense`."""
        return self._split("pointer", axes, dimensions)

    @hides_own_frames_of(TypeError, ValueError)
    def bitmasked(self, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Add a node whose cells all have memory, and a bit each for whether it is active; else as `dense`."""
        return self._split("bitmasked", axes, dimensions)

    @hides_own_frames_of(TypeError, ValueError)
    def dynamic(self, axis: Sequence[Axis], dimension: int, chunk_size: int | None = None) -> SNode:
        """Add lists of at most `dimension` items, which get memory for `chunk_size` items at a time.

        Raises: TypeError for several axes; TaichiRuntimeError for sizes below 1 or from 2^31 on, and for an axis that a
        node above splits; else as `dense`.
        """
        chosen = _axes_of(axis)
        if len(chosen) != 1:
            raise TypeError(f"a dynamic node has one axis, and {axis!r} was given. Hint: write `ti.i`")
        (extent,) = _extents_of(dimension, chosen)
        (chunk,) = (extent,) if chunk_size is None else _extents_of(chunk_size, chosen)
        for what, size in (("The maximum dimension of a dynamic SNode", extent), ("Chunk size", chunk)):
            if size >= 2**31:
                raise TaichiRuntimeError(
                    f"{what} cannot exceed the maximum value of a 32-bit signed integer: Got {size} > 2**31-1",
                    "use several lists",
                )
        number = chosen[0].number
        if self.node is not None and number in axes_of(self.node):
            raise TaichiRuntimeError(
                f"Dynamic SNode must have a standalone dimensionality, and {self} splits {chosen[0]!r} too",
                "take an axis that no node above has",
            )
        return self._add("dynamic", (number,), (extent,), chunk=min(chunk, extent))

    @hides_own_frames_of(TypeError, ValueError)
    def quant_array(self, axes: Sequence[Axis], dimensions: int | Sequence[int], max_num_bits: int) -> SNode:
        """Add an array of quantised numbers in each cell; all its elements are in one word of `max_num_bits` bits.

        Raises: ValueError for a word above 64 bits; else as `dense`.
        """
        if max_num_bits not in (8, 16, 32, 64):
            raise ValueError(f"max_num_bits is 8, 16, 32 or 64, and {max_num_bits!r} was given")
        chosen = _axes_of(axes)
        pairs = sorted(zip((axis.number for axis in chosen), _extents_of(dimensions, chosen), strict=True))
        numbers, extents = (tuple(values) for values in zip(*pairs, strict=True))
        parent = self if self.node is not None else self._add("dense")
        return QuantizedArray(parent, numbers, extents, max_num_bits)

    @hides_own_frames_of(TaichiRuntimeError)
    def hash(self, axes: Any, dimensions: Any) -> NoReturn:
        """Raise, as Taichi does. Raises: TaichiRuntimeError."""
        raise TaichiRuntimeError(
            "hash SNodes are not supported", "use `pointer`, whose cells have memory only while they are active too"
        )

    def _split(self, kind: str, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        chosen = _axes_of(axes)
        pairs = sorted(zip((axis.number for axis in chosen), _extents_of(dimensions, chosen), strict=True))
        return self._add(kind, tuple(axis for axis, _ in pairs), tuple(extent for _, extent in pairs))

    @hides_own_frames_of(AttributeError, TypeError, ValueError)
    def place(self, *args: Any, offset: int | Sequence[int] | None = None) -> SNode:
        """Place fields (or lists of them) made without a shape in the cells of this node; return this node.

        offset: the first index along each axis, instead of 0. Raises: ValueError for other objects;
        TaichiRuntimeError for a field that was placed already, and if the tree has memory already.
        """
        fields = list(_flattened(args))
        packed = [field for field in fields if hasattr(field, "place_in")]
        fields = [field for field in fields if not hasattr(field, "place_in")]
        for field in fields:
            field.check_placeable()
        for each in packed:
            each.place_in(self, offset)
        starts = offset_of(offset, len(self.shape))
        for field in fields:
            leaf = self._add("place", element=field.element, name=field.name)
            leaf._field = ref(field)
            field.place_at(leaf, starts)
        return self

    def _add(
        self,
        kind: str,
        axes: tuple[int, ...] = (),
        extents: tuple[int, ...] = (),
        element: Type | None = None,
        chunk: int = 0,
        name: str = "",
    ) -> SNode:
        """Add a child; below a root it starts a tree."""
        if self.is_complete:
            raise TaichiRuntimeError(
                f"{self} belongs to a tree that has memory already, and takes no more nodes and fields",
                "place all fields of a tree before the first of them is read, written or used in a kernel",
            )
        node = Node(kind, self.node, axes, extents, element, name, chunk=chunk)
        if self.node is not None:
            self.node.children.append(node)
        memory = self.memory if self.memory is not None else TreeMemory(current("SNodes"), node)
        child = SNode(self, node, memory)
        self._children.append(child)
        return child

    def lazy_grad(self) -> None:
        """Place the gradients of all fields below this node in the nodes of the fields."""
        self._place_derivatives(attrgetter("grad"))

    def lazy_dual(self) -> None:
        """Place the duals of all fields below this node in the nodes of the fields."""
        self._place_derivatives(attrgetter("dual"))

    def deactivate_all(self) -> None:
        """Deactivate all cells of the sparse nodes at and below this one; dense cells keep their values."""
        if self.node is not None and self.memory is not None and is_sparse_tree(self.memory.top):
            self.memory.sparse().deactivate_all(self.node)

    def __getattr__(self, name: str) -> NoReturn:
        raise_missing("ti.root" if self.node is None else "SNode", name)

    def describe_domain(self) -> ArrayDescription:
        """Return the domain of `for i, j in node` in a kernel: its cells, or the elements of its field."""
        field = self._field_here()
        offset = () if field is None else field.offset
        self._allocate_if_sparse()
        name = self._name or None
        return ArrayDescription(u1, self.shape, "node", name, place=self.node, tree=self.memory, offset=offset)

    def describe_cells(self) -> NodeDescription | None:
        """Return the description for kernels that access its cells, None for a root; a sparse tree gets memory."""
        if self.node is None:
            return None
        self._allocate_if_sparse()
        return NodeDescription(self.node, self.memory, tuple(child._field_here() for child in self._children))

    def _allocate_if_sparse(self) -> None:
        if self.memory is not None and is_sparse_tree(self.memory.top):
            self.memory.allocate()

    def describe_node(self) -> Node | None:
        """Return the node for the compiler, None for a root."""
        return self.node

    def _place_derivatives(self, derivative: Callable[[Any], Any]) -> None:
        for child in self._children.copy():
            field = child._field_here()
            if field is None:
                child._place_derivatives(derivative)
                continue
            found = derivative(field)
            if found is not None and not found.is_placed:
                self.place(found, offset=field.offset or None)

    def __repr__(self) -> str:
        return "ti.root" if self.node is None else f"<ti.SNode of type {self.kind}>"

    def __str__(self) -> str:
        return "ti.root" if self.node is None else f"{self.parent()} => {self.kind} {list(self.shape)}"


class QuantizedArray(SNode):
    """A node whose cells are elements of one word; it takes one field of quantised numbers."""

    __slots__ = ("axes", "bits", "extents")

    def __init__(self, parent: SNode, axes: tuple[int, ...], extents: tuple[int, ...], bits: int) -> None:
        super().__init__(parent, parent.node, parent.memory)
        self.axes, self.extents, self.bits = axes, extents, bits

    @property
    def kind(self) -> str:
        """The kind of node."""
        return "quant_array"

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents by axis, with those of the nodes above."""
        return self._shape_and_lanes()[0]

    def _above(self) -> dict[int, int]:
        extents: dict[int, int] = {}
        node = self.node
        while node is not None:
            for axis, extent in zip(node.axes, node.extents, strict=True):
                extents[axis] = extents.get(axis, 1) * extent
            node = node.parent
        return extents

    def _shape_and_lanes(self) -> tuple[tuple[int, ...], Any, Any]:
        above = self._above()
        own = dict(zip(self.axes, self.extents, strict=True))
        every = sorted({*above, *own})
        shape = tuple(above.get(axis, 1) * own.get(axis, 1) for axis in every)
        lanes = tuple((every.index(axis), extent) for axis, extent in own.items())
        return shape, lanes, frozenset(every.index(axis) for axis in own if axis in above)

    @hides_own_frames_of(AttributeError, TypeError, ValueError)
    def place(self, *args: Any, offset: Any = None) -> SNode:
        """Place one field of quantised numbers. Raises: TaichiRuntimeError for others, and for too many bits."""
        if len(args) != 1 or not hasattr(args[0], "place_in_array"):
            raise TaichiRuntimeError(
                "a quantised array takes one field of a `ti.types.quant` type", "one for each field"
            )
        if offset is not None:
            raise TaichiRuntimeError("a quantised array has no offset", "leave it out")
        assert self._parent is not None
        shape, lanes, outer_axes = self._shape_and_lanes()
        args[0].place_in_array(self, self._parent, (lanes, outer_axes), shape, self.bits)
        return self


class Grown:
    """What is below a root in one session: its children and their trees."""

    __slots__ = ("children", "trees")

    def __init__(self) -> None:
        self.children: list[SNode] = []
        self.trees: WeakSet[Any] = WeakSet()


class Root(SNode):
    """A root: the top of all other nodes. It has no memory; each child starts a tree.

    forgets: whether it drops references to complete trees, which only their fields then keep alive.
    """

    __slots__ = ("_forgets",)

    def __init__(self, forgets: bool = False) -> None:
        super().__init__(None, None)
        self._forgets = forgets

    def _here(self) -> Grown:
        session = active()
        if session is None:
            return Grown()
        found: Grown = session.roots.setdefault(self, Grown())
        return found

    @property
    def _children(self) -> list[SNode]:  # each session has its own
        return self._here().children

    @_children.setter
    def _children(self, children: list[SNode]) -> None:
        self._here().children = children

    def _add(self, *args: Any, **named: Any) -> SNode:
        """Add a child in the current session. Raises: TaichiRuntimeError before `ti.init()`."""
        self._drop_complete_trees()
        child = super()._add(*args, **named)
        self._here().trees.add(child.memory)
        return child

    def deactivate_all(self) -> None:
        """Deactivate all cells of the sparse nodes of all trees below."""
        for tree in list(self._here().trees):
            if tree.is_living and is_sparse_tree(tree.top):
                tree.sparse().deactivate_all(tree.top)

    def place(self, *args: Any, offset: Any = None) -> SNode:
        """As `SNode.place`; fields placed here have one element, `x[None]`."""
        self._drop_complete_trees()
        for field in _flattened(args):
            if not hasattr(field, "place_in"):
                field.check_placeable()
        self._add("dense").place(*args, offset=offset)
        return self

    def _drop_complete_trees(self) -> None:
        """Forget complete trees if `forgets`. Raises: TaichiRuntimeError before `ti.init()`."""
        current("SNodes")
        if self._forgets:
            self._children = [child for child in self._children if not child.is_complete]


root = Root(forgets=True)


def own_cell() -> SNode:
    """Return a cell below a new root, for fields that are contiguous in one allocation."""
    above = Root()
    above._drop_complete_trees()
    return above._add("dense")


def deactivate_all_snodes() -> None:
    """Deactivate all cells of all sparse nodes of the session.

    Example:
        >>> x = ti.field(ti.i32)
        >>> _ = ti.root.pointer(ti.i, 4).place(x)
        >>> x[2] = 5
        >>> ti.deactivate_all_snodes()
        >>> x[2]
        0
    """
    for owned in list(current("SNodes").arrays):
        if isinstance(owned, TreeMemory) and owned.is_living and is_sparse_tree(owned.top):
            owned.sparse().deactivate_all(owned.top)


def field_of(node: SNode) -> Any:
    """Return the field of a node, None if it is not a field's node or the field is no longer alive."""
    return node._field_here()


def fields_in_tree(node: SNode) -> Iterator[Any]:
    """Yield the fields in the tree of a node that are alive, those nearer to its top first."""
    while node._parent is not None and node._parent.node is not None:
        node = node._parent
    queue = deque([node])
    while queue:
        found = queue.popleft()
        field = found._field_here()
        if field is not None:
            yield field
        queue += found._children


def leaf_of(shape: tuple[int, ...], field: Any) -> SNode:
    """Return the node of a field that was made with a shape: the only child of a dense node below the root."""
    above = Node("dense", None, tuple(range(len(shape))), shape)
    below = Node("place", above, element=field.element)
    above.children.append(below)
    leaf = SNode(SNode(root, above), below)
    leaf._field = ref(field)
    return leaf


def place_in_order(field: Any, shape: tuple[int, ...], order: Sequence[int], offset: tuple[int, ...]) -> None:
    """Place a field in a separate tree whose memory has the axes `order` from the slowest to the fastest."""
    node: SNode = Root()
    for axis in order:
        node = node.dense(axes(axis), shape[axis])
    node.place(field, offset=offset or None)
    top = field.parent(len(order))
    top._parent = root
    top.memory.allocate()


def raise_missing(owner: str, name: str) -> NoReturn:
    """Raise AttributeError for a missing attribute."""
    raise AttributeError(f"'{owner}' object has no attribute '{name}'")


def _axes_of(given: Any) -> list[Axis]:
    chosen = list(given) if isinstance(given, list | tuple) else [given]
    if not chosen or not all(isinstance(axis, Axis) for axis in chosen):
        raise TypeError(f"a node's axes are given as `ti.i`, `ti.ij`, ... or `ti.axes(0, 1)`, and {given!r} was given")
    if len({axis.number for axis in chosen}) != len(chosen):
        raise ValueError(f"an axis can be named once, and {given!r} was given")
    return chosen


def _extents_of(dimensions: Any, chosen: list[Axis]) -> list[int]:
    given = list(dimensions) if isinstance(dimensions, Sequence) else [dimensions]
    if len(given) == 1:
        given *= len(chosen)
    if len(given) != len(chosen):
        raise ValueError(f"{len(chosen)} axes take {len(chosen)} extents, and {dimensions!r} was given")
    try:
        extents = [as_index(extent) for extent in given]
    except TypeError:
        raise TypeError(f"extents are integers, and {dimensions!r} was given") from None
    for axis, extent in enumerate(extents):
        if extent < 1:
            raise TaichiRuntimeError(
                f"Every dimension of a Taichi field should be positive, got {extent} in dimension {axis}",
                "an extent is at least 1",
            )
    return extents


def offset_of(given: Any, axes: int) -> tuple[int, ...]:
    """Return the first index along each axis, () if all are 0."""
    if given is None:
        return ()
    try:
        offset = tuple(as_index(start) for start in (given if isinstance(given, Sequence) else (given,)))
    except TypeError:
        message = f"an offset is an integer for each axis, and {given!r} was given"
        raise TypeError(f"{message}. Hint: write `offset=(0, 1)` for two axes") from None
    if len(offset) != axes:
        raise TaichiRuntimeError(
            f"The dimensionality of the node and of offset must be the same ({axes} != {len(offset)})",
            "give one offset for each axis",
        )
    return offset if any(offset) else ()


def _flattened(args: Iterable[Any]) -> Iterable[Any]:
    for arg in args:
        if isinstance(arg, list | tuple):
            yield from _flattened(arg)
        elif hasattr(arg, "place_at") or hasattr(arg, "place_in"):
            yield arg
        else:
            raise ValueError(f"{arg!r} cannot be placed. Hint: place fields made without a shape: `ti.field(ti.f32)`")
