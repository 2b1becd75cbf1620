"""`ti.FieldsBuilder`: trees of fields separate from `ti.root`, whose memory can be freed before the session ends.

In: `builder.dense(ti.i, n).place(x)`, then `builder.finalize()`. Out: a `SNodeTree` to `destroy()`.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from typing import Any

from ...transpiler.errors import ShadesmithWarning, TaichiRuntimeError
from ..session.session import current
from ..session.tracebacks import hides_own_frames
from .snodes import Axis, Root, SNode
from .tree_memory import TreeMemory

NUMBERS = itertools.count()


class FieldsBuilder:
    """Builds trees of nodes below its own root.

    Example:
        >>> builder = ti.FieldsBuilder()
        >>> x = ti.field(ti.f32)
        >>> _ = builder.dense(ti.i, 3).place(x)
        >>> tree = builder.finalize()
        >>> x.shape
        (3,)
    """

    def __init__(self) -> None:
        current("FieldsBuilder")
        self.root = Root()
        self.finalized = False

    @property
    def empty(self) -> bool:
        """Whether the root has no children."""
        return not self.root._get_children()

    @hides_own_frames
    def dense(self, indices: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Start a tree with a node of `dimensions` cells along the axes `indices`; see `SNode.dense`."""
        return self._open().dense(indices, dimensions)

    @hides_own_frames
    def pointer(self, indices: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Start a tree with a pointer node; see `SNode.pointer`."""
        return self._open().pointer(indices, dimensions)

    @hides_own_frames
    def bitmasked(self, indices: Sequence[Axis], dimensions: int | Sequence[int]) -> SNode:
        """Start a tree with a bitmasked node; see `SNode.bitmasked`."""
        return self._open().bitmasked(indices, dimensions)

    @hides_own_frames
    def dynamic(self, index: Sequence[Axis], dimension: int, chunk_size: int | None = None) -> SNode:
        """Start a tree with a dynamic node; see `SNode.dynamic`."""
        return self._open().dynamic(index, dimension, chunk_size)

    @hides_own_frames
    def quant_array(self, indices: Sequence[Axis], dimensions: int | Sequence[int], max_num_bits: int) -> SNode:
        """Start a tree with an array of quantised numbers; see `SNode.quant_array`."""
        return self._open().quant_array(indices, dimensions, max_num_bits)

    @hides_own_frames
    def place(self, *args: Any, offset: int | Sequence[int] | None = None) -> None:
        """Place fields of one element each, `x[None]`; see `SNode.place`."""
        self._open().place(*args, offset=offset)

    @hides_own_frames
    def lazy_grad(self) -> None:
        """Place the gradients of all fields in the nodes of the fields."""
        self._open().lazy_grad()

    @hides_own_frames
    def lazy_dual(self) -> None:
        """Place the duals of all fields in the nodes of the fields."""
        self._open().lazy_dual()

    def deactivate_all(self) -> None:
        """Deactivate all cells that can be deactivated; those of dense nodes cannot."""

    @hides_own_frames
    def finalize(self, raise_warning: bool = True) -> SNodeTree:
        """Allocate zeroed memory for all fields; the builder takes no more. raise_warning: if there are no fields.

        Raises: TaichiRuntimeError if it was called before, and if there is not enough memory.
        """
        root = self._open()
        if self.empty and raise_warning:
            warnings.warn("Finalizing an empty FieldsBuilder!", ShadesmithWarning, stacklevel=3)
        trees = [child.memory for child in root._get_children() if child.memory is not None]
        for tree in trees:
            tree.allocate()
        self.finalized = True
        return SNodeTree(trees)

    def _open(self) -> Root:
        if self.finalized:
            raise TaichiRuntimeError(
                "FieldsBuilder finalized: its fields have memory, and it takes no more",
                "use a new `ti.FieldsBuilder()`",
            )
        return self.root


class SNodeTree:
    """The fields of a builder that have memory. destroyed: whether it was freed."""

    def __init__(self, trees: Sequence[TreeMemory]) -> None:
        self._trees = tuple(trees)
        self._number = next(NUMBERS)
        self.destroyed = False

    @hides_own_frames
    def destroy(self) -> None:
        """Free the memory of all fields now, after all launches so far.

        Using one of the fields is an error afterwards; so is launching a kernel that was compiled with one.
        Raises: TaichiRuntimeError the second time.
        """
        self._check()
        for tree in self._trees:
            tree.destroy()
        self.destroyed = True

    @property
    def id(self) -> int:
        """A unique number."""
        self._check()
        return self._number

    def _check(self) -> None:
        if self.destroyed:
            raise TaichiRuntimeError("SNode tree has been destroyed", "a tree is destroyed once")
