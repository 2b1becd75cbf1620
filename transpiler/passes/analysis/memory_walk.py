"""A forward walk that knows values of array elements: the base of `forward_elements` and `common_subexpressions`.

What the statements inside a block change is summed up while the walk leaves the block, so that nested blocks are not
searched again at each level.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ...ir.functions import Call
from ...ir.nodes import Block, Effect, Statement
from ...ir.statements import AtomicOp, GlobalStore, LocalStore
from ...ir.textures import ImageStore
from ...lazy_dataclasses import dataclass
from ..rewrite import Rewriter, Rule
from .aliasing import MemoryObject, underlying_object
from .known_elements import Addresses, KnownElements


@dataclass(slots=True)
class Changes:
    """What statements may change.

    Attributes:
        written: arrays and temporaries, directly or through called functions.
        is_fence: by now other threads may have written any shared or global memory.
        stores_texels: any texture, since one texture may be passed twice.
    """

    written: set[MemoryObject] = field(default_factory=set)
    is_fence: bool = False
    stores_texels: bool = False

    def joined(self, other: Changes) -> Changes:
        """Return what both change; the larger of the two objects."""
        small, large = (self, other) if len(self.written) < len(other.written) else (other, self)
        large.written |= small.written
        large.is_fence |= small.is_fence
        large.stores_texels |= small.stores_texels
        return large


class MemoryWalk(Rewriter):
    """A walk with the values of elements that are known in the current block.

    Attributes:
        known: values by pointer; a block starts without any, and those of the block around it go on after it.
        changes: of the statements so far in the current block.
    """

    sees_effects = True

    def __init__(self, rules: Mapping[type[Statement], Rule]) -> None:
        super().__init__(rules)
        self.addresses = Addresses()
        self.known = KnownElements(self.addresses)
        self.changes = Changes()

    def block(self, block: Block) -> None:
        """Walk one block and those inside it."""
        outer, self.known = self.known, KnownElements(self.addresses)
        super().block(block)
        self.known = outer

    def visit(self, statement: Statement) -> None:
        """Walk a statement, and forget what it may change; rules forget what stores change."""
        if statement.__class__ is LocalStore and LocalStore not in self.rules:  # it changes no element
            if self.mapping:
                self.resolve_operands(statement)
            self.out.append(statement)
            return
        if statement.BLOCKS:
            before, self.changes = self.changes, Changes()
            super().visit(statement)
            inside = self.changes
            inside.is_fence |= bool(statement.EFFECT & Effect.FENCE)
            self.forget(inside)
            self.changes = before.joined(inside)
            return
        if self.mapping:
            self.resolve_operands(statement)
        rule = self.rules.get(statement.__class__)
        new = None if rule is None else rule(self, statement)
        if new is None:
            self.out.append(statement)
        else:
            self.replace(statement, new)
        if not statement.EFFECT & (Effect.WRITE | Effect.FENCE):
            return
        changes = self.changes
        if statement.EFFECT & Effect.FENCE:
            changes.is_fence = True
            self.forget(Changes(is_fence=True, stores_texels=True))
        if isinstance(statement, (GlobalStore, AtomicOp)):
            if new is None:
                target = underlying_object(statement.pointer)
                if target is not None:
                    changes.written.add(target)
        elif isinstance(statement, (Call, ImageStore)):
            writes = statement.function.writes if isinstance(statement, Call) else ()
            changes.written.update(writes)
            changes.stores_texels = True
            self.forget(Changes(set(writes), stores_texels=True))

    def forget(self, changes: Changes) -> None:
        """Forget the values that may have changed."""
        if changes.is_fence:
            if self.known.values:
                self.known = KnownElements(self.addresses)
        elif changes.written:
            self.known.forget_objects(changes.written)
