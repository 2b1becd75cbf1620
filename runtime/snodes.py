"""`ti.root`: the tree of nodes in which fields without a shape are placed.

In: `ti.root.dense(ti.ij, (4, 8)).place(x)`. Out: the shape of `x`, and its memory from then on. A field's axes are
those that its nodes name, from `ti.i` on; where an axis is split over several nodes its extents multiply. Memory is
row major whatever the order of the nodes; sparse nodes and layouts come with issue 4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from operator import index as as_index
from typing import Any, NoReturn, Protocol

from ..transpiler.errors import NotYetError, TaichiRuntimeError, as_seen_by_user
from .session import current
from .tracebacks import hides_own_frames_of

MAX_AXES = 12


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of an index. number: 0 for `ti.i`, the first."""

    number: int

    def __repr__(self) -> str:
        return f"ti.{chr(ord('i') + self.number)}"


def axes(*numbers: int) -> list[Axis]:
    """Return the axes of these numbers, as `ti.ij` is `ti.axes(0, 1)`. Raises: ValueError for one out of range."""
    for number in numbers:
        if not 0 <= number < MAX_AXES:
            raise ValueError(f"an axis has a number from 0 to {MAX_AXES - 1}, and {number} was given")
    return [Axis(number) for number in numbers]


AXES = {
    name: axes(*(ord(letter) - ord("i") for letter in name))
    for name in ("i", "j", "k", "l", "ij", "ik", "il", "jk", "jl", "kl", "ijk", "ijl", "ikl", "jkl", "ijkl")
}
"""`ti.i`, `ti.ij`, ...: lists of axes by name."""


class Placeable(Protocol):
    """A field, as far as nodes need it."""

    is_placed: bool

    def place_at(self, node: SNode) -> None:
        """Take the shape of `node`, the field's own, and zeroed memory."""


LATER: dict[str, tuple[str, int | None, str]] = {
    **dict.fromkeys(
        ("pointer", "bitmasked", "dynamic", "hash"), ("sparse SNodes", 4, "use `dense`, which holds all cells")
    ),
    "quant_array": ("quantised types", None, "use `dense` and a small type such as `ti.i8`"),
}
"""Kinds of nodes that this version lacks."""


class SNode:
    """A node of the tree of fields. kind: "root", "dense" or "place" (a field's own, a leaf)."""

    __slots__ = ("_children", "_extents", "_fields", "_parent", "kind")

    def __init__(self, kind: str, parent: SNode | None, extents: dict[int, int]) -> None:
        self.kind = kind
        self._parent = parent
        self._extents = extents
        self._children: list[SNode] = []
        self._fields: list[Placeable] = []

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents by axis, from the lowest axis on."""
        return tuple(self._extents[axis] for axis in sorted(self._extents))

    @property
    def num_dynamically_allocated(self) -> int:
        """Cells allocated while kernels run: none, since dense nodes have all of theirs from the start."""
        return 0

    def parent(self, n: int = 1) -> SNode | None:
        """Return the node `n` levels up; None above the root."""
        node: SNode | None = self
        for _ in range(n):
            node = node._parent if node is not None else None
        return node

    @hides_own_frames_of(TypeError, ValueError)
    def dense(self, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Add a node of `dimensions` cells along `axes`; one number stands for every axis.

        Raises: TypeError where `axes` are none; ValueError for as many numbers as there are not axes;
        TaichiRuntimeError for an extent below 1.
        """
        chosen = _axes_of(axes)
        node = SNode("dense", self, _extended(self._extents, chosen, _extents_of(dimensions, chosen)))
        self._children.append(node)
        return node

    @hides_own_frames_of(AttributeError, ValueError)
    def place(self, *args: Any, offset: Any = None) -> SNode:
        """Give memory, zeroed, to fields (or lists of them) made without a shape; return this node.

        Raises: ValueError for what is no field; TaichiRuntimeError for a field that has memory already.
        """
        if offset is not None and any(offset if isinstance(offset, Iterable) else (offset,)):
            raise NotYetError("`offset` of `place`", "layouts by SNodes", 4)
        for field in _flattened(args):
            field.place_at(SNode("place", self, self._extents))
            self._fields.append(field)
        return self

    def lazy_grad(self) -> None:
        """Place the gradients of all fields below this node beside them."""
        self._place_beside(attrgetter("grad"))

    def lazy_dual(self) -> None:
        """Place the duals of all fields below this node beside them."""
        self._place_beside(attrgetter("dual"))

    def deactivate_all(self) -> NoReturn:
        """Refuse: dense cells are always active. Raises: TaichiRuntimeError."""
        raise TaichiRuntimeError(
            f"{self!r} is dense: its cells are always active. Hint: `x.fill(0)` zeroes the field `x`"
        )

    def __getattr__(self, name: str) -> NoReturn:
        _refuse("ti.root" if self.kind == "root" else "SNode", name)

    def describe_domain(self) -> tuple[int, ...]:
        """Return the extents over which `for i, j in node` runs in a kernel."""
        return self.shape

    def _place_beside(self, derivative: Callable[[Any], Any]) -> None:
        for field in self._fields.copy():
            beside = derivative(field)
            if beside is not None and not beside.is_placed:
                self.place(beside)
        for child in self._children:
            child._place_beside(derivative)

    def __repr__(self) -> str:
        return "ti.root" if self.kind == "root" else f"<ti.SNode of type {self.kind}>"


class Root(SNode):
    """`ti.root`: the node all others stand below; each session begins with an empty one."""

    __slots__ = ("_session",)

    def __init__(self) -> None:
        super().__init__("root", None, {})
        self._session: object = None

    def dense(self, axes: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """As `SNode.dense`. Raises: TaichiRuntimeError before `ti.init()`."""
        self._begin()
        return super().dense(axes, dimensions)

    def place(self, *args: Any, offset: Any = None) -> SNode:
        """As `SNode.place`; fields placed here have one element, `x[None]`."""
        self._begin()
        return super().place(*args, offset=offset)

    def _begin(self) -> None:
        session = current("SNodes")
        if self._session is not session:
            self._session = session
            self._children, self._fields = [], []


root = Root()


def leaf_of(shape: tuple[int, ...]) -> SNode:
    """Return the node of a field that was made with a shape: it stands alone below a dense node below the root."""
    extents = dict(enumerate(shape))
    return SNode("place", SNode("dense", root, extents) if shape else root, extents)


def _refuse(owner: str, name: str) -> NoReturn:
    """Raise for an attribute that is missing: a later issue's, or nobody's."""
    if name in LATER:
        raise as_seen_by_user(NotYetError(f"{owner}.{name}", *LATER[name]))
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
                f"Every dimension of a Taichi field should be positive, got {extent} in dimension {axis}. "
                "Hint: an extent is at least 1"
            )
    return extents


def _extended(outer: dict[int, int], chosen: list[Axis], extents: list[int]) -> dict[int, int]:
    result = dict(outer)
    for axis, extent in zip(chosen, extents, strict=True):
        result[axis.number] = result.get(axis.number, 1) * extent
    return result


def _flattened(args: Iterable[Any]) -> Iterable[Placeable]:
    for arg in args:
        if isinstance(arg, list | tuple):
            yield from _flattened(arg)
        elif hasattr(arg, "place_at"):
            yield arg
        else:
            raise ValueError(f"{arg!r} cannot be placed. Hint: place fields made without a shape: `ti.field(ti.f32)`")
