"""Puts an `IndexCheck` before accesses, with a message that names what is accessed."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from ....ir.builder import Builder
from ....ir.nodes import Block, Statement, blocks, operands
from ....ir.sparse import CELL_STATEMENTS
from ....ir.statements import ArrayShape, Const, GlobalPtr, IndexCheck, MatrixElement, MatrixPtr, StructPtr, origin_of
from ....ir.tasks import Kernel
from ....ir.types import i32
from ...analysis.accesses import Access, access_of, untruncated

POINTERS = (GlobalPtr, MatrixPtr, StructPtr)


def insert_checks(kernel: Kernel, needs_check: Callable[[Access], bool]) -> bool:
    """Insert an IndexCheck before each access that needs one; return whether any was inserted."""
    changed = [_CheckInserter(kernel, needs_check).block(root) for root in kernel.roots()]
    return any(changed)


class _CheckInserter:
    """Inserts the checks. `known`: checks so far in the current block and its enclosing blocks."""

    def __init__(self, kernel: Kernel, needs_check: Callable[[Access], bool]) -> None:
        self.kernel, self.needs_check = kernel, needs_check
        self.known: set[Hashable] = set()

    def block(self, block: Block) -> bool:
        builder = Builder(Block())
        added: list[Hashable] = []
        changed = False
        for statement in block.statements:
            if isinstance(statement, IndexCheck):
                key = _key_of_check(statement)
                if key in self.known:
                    changed = True
                    continue
                self.known.add(key)
                added.append(key)
            for inner in blocks(statement):
                changed |= self.block(inner)
            for indexed in _indexed(statement):
                access = access_of(self.kernel, indexed)
                if access is not None and self.needs_check(access) and (key := _key(access)) not in self.known:
                    self.known.add(key)
                    added.append(key)
                    builder.location = indexed.location
                    builder.add(index_check(builder, access, self.kernel.name))
                    changed = True
            builder.add(statement)
        block.statements = builder.block.statements
        self.known.difference_update(added)
        return changed


def index_check(builder: Builder, access: Access, kernel: str) -> IndexCheck:
    """Return the check of an access; its extents are added to `builder`. kernel: its name, for the message."""
    extents: list[Statement] = [
        builder.add(ArrayShape(access.array, axis, type=i32))
        if access.array is not None and access.shape is None
        else builder.const(access.shape[axis] if access.shape is not None else 0)
        for axis in range(len(access.indices))
    ]
    indices = [untruncated(index) for index in access.indices]
    lower_bounds = access.array.offset if access.array is not None else ()
    return IndexCheck(indices, extents, _message(access, kernel), access.name, lower_bounds)


def _indexed(statement: Statement) -> list[Statement]:
    """Return the pointers through which a statement loads, stores or passes a reference, outermost first."""
    if isinstance(statement, (MatrixElement, *CELL_STATEMENTS)):
        return [statement]
    result: list[Statement] = []
    if not isinstance(statement, POINTERS):
        for operand in operands(statement):
            chain: list[Statement] = []
            pointer: Statement | None = operand
            while isinstance(pointer, POINTERS):
                chain.append(pointer)
                pointer = origin_of(pointer)
            result += reversed(chain)
    return result


def _key(access: Access) -> Hashable:
    return _values(access.indices), access.array if access.shape is None else (access.shape, access.offset)


def _key_of_check(check: IndexCheck) -> Hashable:
    """Return the key of an access that was checked before this pass."""
    return _values(check.indices), (_values(check.extents), check.lower_bounds or (0,) * len(check.indices))


def _values(indices: list[Statement]) -> tuple[Hashable, ...]:
    return tuple(index.value if isinstance(index, Const) else index for index in map(untruncated, indices))


def _message(access: Access, kernel: str) -> str:
    """Return Taichi's message, with the name of the target."""
    placeholders = [f"{{{k}}}" for k in range(2 * len(access.indices))]
    indices, shape = ", ".join(placeholders[: len(access.indices)]), ", ".join(placeholders[len(access.indices) :])
    kind = access.kind
    if kind in ("vector", "matrix"):
        message = f"(kernel={kernel}) Out of bound access to a {kind} of shape ({shape}) with indices [{indices}]"
        return message + (f": `{access.name}`" if access.name else "")
    if kind != "ndarray":
        lower_bounds = access.array.offset if access.array is not None else ()
        since = f" offset ({', '.join(map(str, lower_bounds))})" if lower_bounds else ""
        return f"(kernel={kernel}) Accessing {kind} ({access.name}) of size ({shape}){since} with indices ({indices})"
    assert access.array is not None
    where = f"[kernel={kernel}] Out of bound access to ndarray at arg {access.array.parameter}"
    return f"{where} with indices [{indices}]: `{access.name}` has shape ({shape})"
