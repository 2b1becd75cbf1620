"""Stores 0 in place of subnormal numbers in arrays whose numbers decay from launch to launch, in C with `fast_math`.

    x[i] = x[i] * 0.9                ->    x[i] = flushed(x[i] * 0.9)

    v[i] = (u[i - 1] + u[i + 1]) * d       v[i] = flushed((u[i - 1] + u[i + 1]) * d)
    u[i] = v[i]                            u[i] = v[i]

What decays does not reach 0: rounded to the nearest number, 4 * 2^-149 * 0.9 is 4 * 2^-149 again. Processors take up to
100 times as long to multiply such numbers, so that all later launches do: 2^20 numbers took a core of a Xeon 10 ms for
ever, and .17 ms with the pass; Taichi, whose threads flush all results, .17, too. Heat that spreads from a point over
512 x 512 cells took .31 ms a step, and .15 over 2,000 steps; smoke that decays 10.4, and 4.5 (Taichi: 6.9).

Launches that scale 2^8 to 2^22 normal numbers take as long as before, structs in a cache up to 1.2 times. Flushed is a
product with the outcome of a comparison: of a choice gcc 12 makes jumps in loops over structs, up to 1.7 times. The
comparison is `!(abs(x) < c)`, since gcc takes a product with `abs(x) >= c` for a choice, too, which makes NaN 0.

The mode of the processor (MXCSR, FPCR) would flush all results of a thread. It has to be set and reset in each thread
of each region, also where a kernel raises, and a reader does not see which numbers it changes.

Flushed is what a loop stores in an element of an array, or in a member of one, if a factor of it was loaded from the
same array; where nothing remains of the element, also from an array whose elements the kernel takes from there, as from
u[i] = v[i] above. What has a number as a term, a * x[i] + 1, does not decay to 0. Quotients by numbers that the kernel
computes do not count, since most normalize, nor do multiples by literals of 1 and more, nor arrays that a loop of the
kernel sets to 0, or to another array: each launch starts anew. An FFT with such a copy took 1.9 times as long.
Atomic operations stay.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...ir.nodes import Block, Remark, Statement, replace_uses, walk, walk_blocks
from ...ir.statements import (
    Array,
    Const,
    GlobalLoad,
    GlobalPtr,
    GlobalStore,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    StructInit,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import Struct
from ..analysis.factors import NOTHING, PRODUCTS, QUOTIENTS, Factors, Parts, Place, is_flushed, member_of
from ..analysis.queries import are_indices_of, base_array, is_zero
from ..context import PassContext

NEEDS = (*sorted(PRODUCTS | QUOTIENTS),)
"""Operations without one of which nothing decays."""
REMARK = "flushed: a subnormal number would never decay to 0 (flush_subnormals)"


def flush_subnormals(kernel: Kernel, context: PassContext) -> bool:
    """Flush what loops store in such arrays."""
    if not context.capabilities.traps_subnormals or not context.options.fast_math:
        return False
    arrays = _carried(kernel)
    return bool(arrays) and _Flushing(kernel, Factors(kernel, arrays)).run()


def _carried(kernel: Kernel) -> set[Array]:
    """Return the arrays that a kernel loads and stores, and does not set to 0: launches load what others stored."""
    statements = [s for s in kernel.statements() if isinstance(s, (GlobalLoad, GlobalStore))]
    loaded = {base_array(s.pointer) for s in statements if isinstance(s, GlobalLoad)}
    stored = {base_array(s.pointer) for s in statements if isinstance(s, GlobalStore)}
    return {array for array in loaded & stored if array is not None and not array.is_shared} - set(_set(kernel))


def _set(kernel: Kernel) -> Iterator[Array]:
    """Yield the arrays whose elements a loop over their axes sets to 0, or to those of an array that no task stores."""
    stored = {base_array(s.pointer) for root in kernel.roots() for s in walk(root) if isinstance(s, GlobalStore)}
    for task in kernel.tasks:
        for store in task.body:
            if isinstance(store, GlobalStore) and isinstance(store.pointer, GlobalPtr):
                is_given = isinstance(store.value, GlobalLoad) and base_array(store.value.pointer) not in stored
                if is_given or is_zero(store.value):
                    if store.pointer.indices and are_indices_of(store.pointer.indices, task.loop):
                        yield store.pointer.array


class _Flushing:
    """The pass in one kernel."""

    def __init__(self, kernel: Kernel, factors: Factors) -> None:
        self.kernel, self.factors = kernel, factors
        self.sources: dict[Place, set[Place]] = {}  # of places, those from which they take their elements
        self.copies: dict[Statement, set[Array]] = {}  # of local structs, the arrays in which they are stored
        for statement in kernel.statements():
            if isinstance(statement, GlobalStore) and (array := base_array(statement.pointer)) is not None:
                self._note(array, statement)

    def _note(self, array: Array, store: GlobalStore) -> None:
        """Note from where a store takes an element."""
        place, parts = Place(array, member_of(store.pointer)), self.factors.stored.get(store, NOTHING)
        if place not in parts.terms:
            self.sources.setdefault(place, set()).update(parts.all)
        if isinstance(store.value, LocalLoad) and isinstance(store.value.type, Struct):
            self.copies.setdefault(base_pointer(store.value.pointer), set()).add(array)

    def run(self) -> bool:
        """Flush what decays; return whether anything does."""
        changed = False
        for root in _repeated(self.kernel):
            has_remark = False
            for block in walk_blocks(root):
                for store in [s for s in block if isinstance(s, (GlobalStore, LocalStore))]:
                    old = store.value
                    if before := self._flush(store):
                        index = block.statements.index(store)
                        # What is loaded from there was forwarded, and is what was stored.
                        replace_uses(Block(block.statements[index + 1 :]), {old: store.value})
                        block.insert_before(store, before)
                        store.remarks += () if has_remark else (Remark(REMARK, "above", store.location),)
                        has_remark = changed = True
        return changed

    def _flush(self, store: GlobalStore | LocalStore) -> list[Statement]:
        """Store flushed numbers where they decay; return the statements that flush them."""
        base, member, value = base_pointer(store.pointer), member_of(store.pointer), store.value
        arrays = {base.array} if isinstance(base, GlobalPtr) else self.copies.get(base, set()) if member else set()
        if isinstance(value, StructInit) and isinstance(value.type, Struct) and not member:
            names = [name for name, _ in value.type.members]
            pairs = list(zip(names, value.values, strict=True))
            flushed = [_flushed(p) if self._decays(p, self.factors.of(p), arrays, name) else p for name, p in pairs]
            added = [new for new, old in zip(flushed, value.values, strict=True) if new is not old]
            if not added:
                return []
            store.value = StructInit(flushed, type=value.type, location=value.location)
            return [*added, store.value]
        if isinstance(value, Operation) and value.op == "flushed":  # in a loop around
            return []
        if not self._decays(value, self.factors.stored.get(store, NOTHING), arrays, member):
            return []
        store.value = _flushed(value)
        return [store.value]

    def _decays(self, value: Statement, parts: Parts, arrays: set[Array], member: str) -> bool:
        """Return whether a factor of what is stored in arrays comes from where it is stored."""
        if not parts.factors or not is_flushed(value.type) or _is_shifted(value) or _grows(value):
            return False
        places = {Place(array, member) for array in arrays}
        if not places.isdisjoint(parts.factors):
            return True
        return places.isdisjoint(parts.terms) and any(self._feeds(place, parts.factors) for place in places)

    def _feeds(self, stored: Place, loaded: frozenset[Place]) -> bool:
        """Return whether one of the places that are loaded is the one that is stored, or takes its elements from it."""
        pending, seen = list(loaded), set(loaded)
        while pending:
            place = pending.pop()
            if place == stored:
                return True
            new = self.sources.get(place, set()) - seen
            seen |= new
            pending += new
        return False


def _repeated(kernel: Kernel) -> list[Block]:
    """Return the blocks that run many times: those of loops, and of functions."""
    loops = [task.body for task in kernel.tasks if task.loop is not None]
    serial = [s for task in kernel.tasks if task.loop is None for s in walk(task.body)]
    loops += [s.body for s in serial if isinstance(s, (RangeFor, While))]
    return [*loops, *(function.body for function in kernel.functions)]


def _is_shifted(value: Statement) -> bool:
    """Return whether a number other than 0 is a term of a value, which then decays to another one."""
    if isinstance(value, Operation) and value.op in ("add", "sub"):
        return any(map(_is_shifted, value.operands))
    return isinstance(value, Const) and value.value != 0


def _grows(value: Statement) -> bool:
    """Return whether a value is a multiple of another one that is not nearer to 0, such as `x[i] * 2.0`."""
    numbers = [o for o in value.operands if isinstance(o, Const)] if isinstance(value, Operation) else []
    return isinstance(value, Operation) and value.op == "mul" and any(abs(number.value) >= 1 for number in numbers)


def _flushed(value: Statement) -> Operation:
    return Operation("flushed", [value], type=value.type, location=value.location)
