"""Lowers returns and breaks to structured control flow: one return at the end, breaks only out of 1-D loops.

    if c: return a        if c { store result, a }
    rest            ->    else { rest; store result, b }
    return b              return load result

In a serial loop a return sets a flag and breaks; in a parallel loop it ends the iteration. Parallel loops that follow a
return are not moved into a branch, which would make them serial: their range becomes empty instead.
"""

from __future__ import annotations

from ...errors import TaichiSyntaxError
from ...ir.builder import Builder
from ...ir.nodes import Block, Statement, blocks, walk, walk_inside
from ...ir.ops import ATOMIC_OPS, OPS
from ...ir.statements import (
    Alloca,
    Break,
    Continue,
    If,
    LocalLoad,
    LocalStore,
    Operation,
    RangeFor,
    Return,
    StructFor,
    While,
    base_pointer,
)
from ...ir.tasks import Kernel
from ...ir.types import Type, u1
from ..analysis.queries import is_parallel_loop, uncast
from ..context import PassContext
from ..loops.parts.nests import nest_of
from ..sparse.parts.dense_loops import as_range_for, rebind_indices
from .parts.predicate_rest import predicate_rest

LOOPS = (RangeFor, StructFor, While)
ATOMIC_OF = {operation: atomic for atomic, operation in ATOMIC_OPS.items()}


def lower(kernel: Kernel, context: PassContext) -> bool:
    """Make returns and breaks structured, and shared updates in parallel loops atomic.

    Raises:
        TaichiSyntaxError: for a value returned from inside a parallel loop, whose iterations have no order.
    """
    if _share_updates(kernel.body):
        context.forget()
    if context.may_have(kernel, (Return,)) and any(isinstance(statement, Return) for statement in walk(kernel.body)):
        _Returns(kernel).run()
        context.forget()
    if context.may_have(kernel, (Break,)):
        for root in kernel.roots():
            _split_axes(root)
        context.forget()
    return True


# --- updates of variables from parallel loops -------------------------------------------------------------------------


def _share_updates(body: Block) -> bool:
    """Make `s = s + x` on a variable declared outside a parallel loop atomic, as Taichi does for `s += x`.

    Return whether there is one.
    """
    outside = {statement for statement in body.statements if isinstance(statement, Alloca)}
    loops = [loop for loop in body.statements if is_parallel_loop(loop)] if outside else []
    changed = [_share_in(inner, outside) for loop in loops for inner in blocks(loop)]
    return any(changed)


def _share_in(block: Block, outside: set[Alloca]) -> bool:
    changed = False
    builder = Builder(Block())
    for statement in block.statements:
        for inner in blocks(statement) if statement.BLOCKS else ():
            changed |= _share_in(inner, outside)
        update = None
        if isinstance(statement, LocalStore) and base_pointer(statement.pointer) in outside:
            update = _as_update(statement)
        if update is None or not isinstance(statement, LocalStore):
            builder.add(statement)
        else:
            builder.location = statement.location
            builder.atomic(update[0], statement.pointer, update[1])
            changed = True
    block.statements = builder.block.statements
    return changed


def _as_update(store: LocalStore) -> tuple[str, Statement] | None:
    """Return (atomic, value) if `store` is x = x op value; the value is cast as for `x op= value`."""
    operation = uncast(store.value)
    if not isinstance(operation, Operation) or operation.op not in ATOMIC_OF:
        return None
    a, b = operation.operands
    if _reads_target(a, store):
        return ATOMIC_OF[operation.op], b
    if OPS[operation.op].commutative and _reads_target(b, store):
        return ATOMIC_OF[operation.op], a
    return None


def _reads_target(value: Statement, store: LocalStore) -> bool:
    load = uncast(value)
    return isinstance(load, LocalLoad) and load.pointer is store.pointer


# --- returns ----------------------------------------------------------------------------------------------------------


class _Returns:
    """Lowers returns. `results`: variables for the returned values; `flag`: the variable that records a return."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.results: list[Alloca] = []
        self.flag: Alloca | None = None
        self.returning = {s for s in walk(kernel.body) if s.BLOCKS and _contains_return(s)}

    def run(self) -> None:
        body = self.kernel.body
        for loop in body.statements:
            if is_parallel_loop(loop) and loop in self.returning:
                self.end_iterations(loop)
        if not any(isinstance(statement, Return) for statement in walk(body)):
            return
        last = body.statements[-1]
        if isinstance(last, Return) and not self.returning and _first_return(body.statements) is last:
            if not last.values:
                body.statements.pop()
            return
        for number, type in enumerate(self.kernel.returns):
            name = "result" if len(self.kernel.returns) == 1 else f"result_{number}"
            self.results.append(self.variable(name, type))
        self.flag = self.variable("returned", u1)
        body.statements = [*self.results, self.flag, *self.sequence(body.statements, last=True, top=True)]
        if self.results:
            builder = self.builder(body.statements, last)
            builder.add(Return([builder.load(result) for result in self.results]))

    def variable(self, name: str, type: Type) -> Alloca:
        return Alloca(type=type, name=name, location=self.kernel.location)

    def builder(self, statements: list[Statement], origin: Statement) -> Builder:
        """Return a builder that appends to `statements`."""
        return Builder(Block(statements), origin.location)

    def sequence(self, statements: list[Statement], last: bool, top: bool = False) -> list[Statement]:
        """Return `statements`, outside loops, such that none runs after a return.

        Args:
            last: nothing follows them in the kernel, so that a return need not set the flag.
            top: they are top-level statements of the kernel.
        """
        result: list[Statement] = []
        end = next((k for k, statement in enumerate(statements, 1) if isinstance(statement, Return)), len(statements))
        for position, statement in enumerate(statements[:end], 1):
            if isinstance(statement, Return):
                self.lower_return(result, statement, last)
                return result
            if statement not in self.returning:
                result.append(statement)
                continue
            rest = statements[position:end]
            parallel_rest = top and any(is_parallel_loop(other) for other in rest)
            if isinstance(statement, If) and not parallel_rest and self.into_branches(statement, rest, last):
                result.append(statement)
                return result
            self.close(result, statement, parallel_rest)
            if rest:
                self.skip_rest(result, statement, rest, last, parallel_rest)
            return result
        return result

    def into_branches(self, statement: If, rest: list[Statement], last: bool) -> bool:
        """Move `rest` into the branch that does not return; return False if both may fall through."""
        otherwise = statement.otherwise.statements if statement.otherwise is not None else []
        then = statement.then.statements
        if _always_returns(then):
            otherwise, rest = ([*otherwise, *rest] if not _always_returns(otherwise) else otherwise), []
        elif _always_returns(otherwise):
            then, rest = [*then, *rest], []
        if rest:
            return False
        statement.then = Block(self.sequence(then, last))
        inner = self.sequence(otherwise, last)
        statement.otherwise = Block(inner) if inner else None
        return True

    def close(self, result: list[Statement], statement: Statement, parallel_rest: bool) -> None:
        """Append a statement that may return, with its returns replaced by stores to the flag."""
        if isinstance(statement, If):
            sets_flag_after = parallel_rest and _only_then_returns(statement)
            statement.then = Block(self.sequence(statement.then.statements, sets_flag_after))
            if statement.otherwise is not None:
                statement.otherwise = Block(self.sequence(statement.otherwise.statements, False))
            result.append(statement)
            if sets_flag_after and self.flag is not None:
                # The flag stays a plain value, which each task can compute from a uniform condition. It is set after
                # the branch, inside which it records whether one of several returns was executed.
                builder = self.builder(result, statement)
                builder.store(self.flag, builder.op("logical_or", builder.load(self.flag), statement.condition))
            return
        self.break_out_of(statement)
        result.append(statement)

    def skip_rest(
        self, result: list[Statement], origin: Statement, rest: list[Statement], last: bool, parallel_rest: bool
    ) -> None:
        """Append `rest` such that it runs only if no return was executed."""
        assert self.flag is not None
        if parallel_rest:
            following = self.sequence(rest, last, top=True)
            predicate_rest(result, following, self.flag, origin.location)
            return
        builder = self.builder(result, origin)
        not_returned = builder.op("logical_not", builder.load(self.flag))
        builder.add(If(not_returned, Block(self.sequence(rest, last))))

    def lower_return(self, result: list[Statement], statement: Return, last: bool = False) -> None:
        """Append the lowering of a return: store the values; set the flag, unless nothing follows."""
        builder = self.builder(result, statement)
        for variable, value in zip(self.results, statement.values, strict=True):
            builder.store(variable, value)
        if not last:
            assert self.flag is not None
            builder.store(self.flag, builder.const(True, u1))

    def break_out_of(self, loop: Statement) -> None:
        """Make returns inside a serial loop break out of it."""
        for block in blocks(loop):
            self.break_out_of_block(block)

    def break_out_of_block(self, block: Block) -> None:
        result: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Return):
                self.lower_return(result, statement)
                self.builder(result, statement).add(Break())
                break
            result.append(statement)
            if statement not in self.returning:
                continue
            for inner in blocks(statement):
                self.break_out_of_block(inner)
            if isinstance(statement, LOOPS):
                self.propagate_exit(result, statement, Break())
        block.statements = result

    def propagate_exit(self, result: list[Statement], loop: Statement, jump: Statement) -> None:
        """Append: if a return was executed in the loop before, exit the enclosing loop, too."""
        assert self.flag is not None
        builder = self.builder(result, loop)
        branch = Block()
        builder.add(If(builder.load(self.flag), branch))
        with builder.into(branch):
            builder.add(jump)

    def end_iterations(self, loop: Statement) -> None:
        """Make returns inside a parallel loop end the iteration."""
        inside = {inner for inner in self.returning if inner is loop or _contains(loop, inner)}
        for statement in walk(Block([loop])):
            if isinstance(statement, Return) and statement.values:
                message = "Cannot return a value from inside a parallel loop"
                hint = "write it to a field, or make the loop serial: ti.loop_config(serialize=True)"
                raise statement.location.error(TaichiSyntaxError, message, hint)
        outer, self.flag, results, self.results = self.flag, self.variable("returned", u1), self.results, []
        for block in blocks(loop):
            self.end_iteration_block(block)
            if any(isinstance(s, LocalStore) and s.pointer is self.flag for s in walk(block)):
                block.statements.insert(0, self.flag)
        self.flag, self.results = outer, results
        self.returning -= inside

    def end_iteration_block(self, block: Block) -> None:
        result: list[Statement] = []
        for statement in block.statements:
            if isinstance(statement, Return):
                self.builder(result, statement).add(Continue())
                break
            result.append(statement)
            if statement not in self.returning:
                continue
            if isinstance(statement, LOOPS):
                self.break_out_of(statement)
                self.propagate_exit(result, statement, Continue())
            else:
                for inner in blocks(statement):
                    self.end_iteration_block(inner)
        block.statements = result


def _contains(outer: Statement, inner: Statement) -> bool:
    return any(statement is inner for statement in walk(Block([outer])))


def _contains_return(statement: Statement) -> bool:
    return any(isinstance(inner, Return) for inner in walk_inside(statement))


def _first_return(statements: list[Statement]) -> Statement | None:
    return next((statement for statement in statements if isinstance(statement, Return)), None)


def _always_returns(statements: list[Statement]) -> bool:
    """Return whether the end of these statements is unreachable."""
    for statement in statements:
        if isinstance(statement, Return):
            return True
        if isinstance(statement, If) and statement.otherwise is not None:
            if _always_returns(statement.then.statements) and _always_returns(statement.otherwise.statements):
                return True
    return False


def _only_then_returns(statement: If) -> bool:
    """Return whether a return is executed if and only if the condition of `statement` is true."""
    otherwise = [statement.otherwise] if statement.otherwise is not None else []
    return _always_returns(statement.then.statements) and not any(
        isinstance(inner, Return) for block in otherwise for inner in walk(block)
    )


# --- loops of several axes with a break -------------------------------------------------------------------------------


def _split_axes(block: Block) -> None:
    """Replace loops of several axes that contain a break by nests of 1-D loops."""
    result: list[Statement] = []
    for statement in block.statements:
        if not statement.BLOCKS:
            result.append(statement)
            continue
        for inner in blocks(statement):
            _split_axes(inner)
        if isinstance(statement, StructFor) and _bound_breaks(statement.body):
            before, loop = as_range_for(statement)
            rebind_indices(statement.body, {statement: loop})
            result += before
            statement = loop
        if isinstance(statement, RangeFor) and len(statement.starts) > 1 and _bound_breaks(statement.body):
            result += _nest(statement)
        else:
            result.append(statement)
    block.statements = result


def _bound_breaks(block: Block) -> list[Block]:
    """Return the blocks in `block`, without those of inner loops, that contain a break."""
    result = [block] if any(isinstance(statement, Break) for statement in block.statements) else []
    for statement in block.statements:
        if statement.BLOCKS and not isinstance(statement, LOOPS):
            for inner in blocks(statement):
                result += _bound_breaks(inner)
    return result


def _nest(loop: RangeFor) -> list[Statement]:
    """Return a nest of 1-D loops; a break sets a flag, on which the outer loops break as well."""
    flag = Alloca(type=u1, name="left", location=loop.location)
    for block in _bound_breaks(loop.body):
        position = next(k for k, statement in enumerate(block.statements) if isinstance(statement, Break))
        jump = block.statements[position]
        builder = Builder(Block(block.statements[:position]), jump.location)
        builder.store(flag, builder.const(True, u1))
        builder.add(jump)
        block.statements = builder.block.statements
    nest = nest_of(loop)
    for outer in nest[:-1]:
        builder = Builder(outer.body, loop.location)
        builder.add(If(builder.load(flag), Block([Break(location=loop.location)])))
    return [flag, nest[0]]
