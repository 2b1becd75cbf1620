"""Makes variables of a serial task of temporaries that no other task uses any more.

    task 0: for i in keep { keep[i] = 1 }               task 0: for i in keep { keep[i] = 1 }
    task 1: store temp count, 0                  ->     task 1: count = 0
            for i in 0..n { temp count += 1 }                   for i in 0..n { count += 1 }

`offload` keeps what several tasks use in memory; `merge_serial` may make one task of these.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, operands, walk
from ...ir.statements import (
    Alloca,
    AtomicOp,
    GlobalLoad,
    GlobalStore,
    GlobalTemporary,
    LocalLoad,
    LocalStore,
    MatrixPtr,
    Temporary,
    base_pointer,
)
from ...ir.tasks import Kernel, Task
from ...ir.types import count_scalars
from ..context import PassContext
from ..rewrite import Rewriter

MOST = 32
"""The most numbers of a variable; larger ones stay in memory."""
USERS = (GlobalLoad, GlobalStore, AtomicOp, MatrixPtr)


def local_temporaries(kernel: Kernel, context: PassContext) -> bool:
    """Replace such temporaries."""
    if not kernel.temporaries:
        return False
    tasks_of: dict[Temporary, set[Task]] = {}
    for task in kernel.tasks:
        for statement in [s for root in task.roots() for s in walk(root)]:
            if isinstance(statement, GlobalTemporary):
                tasks_of.setdefault(statement.temporary, set()).add(task)
    changed = False
    for task in [task for task in kernel.tasks if task.loop is None]:
        own = {temporary for temporary, tasks in tasks_of.items() if tasks == {task}}
        local = {temporary for temporary in own if _is_local(temporary, task)}
        if local:
            _make_local(task, local)
            kernel.temporaries = [each for each in kernel.temporaries if each not in local]
            changed = True
    return changed


def _is_local(temporary: Temporary, task: Task) -> bool:
    """Return whether a task stores a whole temporary before all else, and only loads, stores and adds to it."""
    statements = list(walk(task.body))
    pointers: set[Statement] = set()
    users: list[Statement] = []
    for statement in statements:
        if isinstance(statement, GlobalTemporary) and statement.temporary is temporary:
            pointers.add(statement)
        elif any(operand in pointers for operand in operands(statement)):
            users.append(statement)
            if isinstance(statement, MatrixPtr):
                pointers.add(statement)
    if temporary.count > 1 or count_scalars(temporary.type) > MOST:
        return False
    if not users or not all(isinstance(user, USERS) for user in users):
        return False
    first = users[0]
    if not isinstance(first, GlobalStore) or not isinstance(first.pointer, GlobalTemporary):
        return False
    return first in task.body.statements and not any(
        isinstance(user, (GlobalStore, AtomicOp)) and user.value in pointers for user in users
    )


def _make_local(task: Task, temporaries: set[Temporary]) -> None:
    """Make variables of temporaries, each before its first use."""
    variables: dict[Temporary, Alloca] = {}
    rewriter = Rewriter({GlobalLoad: _load, GlobalStore: _store})
    statements: list[Statement] = []
    for statement in task.body.statements:
        inside = walk(Block([statement]))
        for pointer in [s for s in inside if isinstance(s, GlobalTemporary) and s.temporary in temporaries]:
            temporary = pointer.temporary
            if temporary not in variables:
                variables[temporary] = Alloca(type=temporary.type, name=temporary.name, location=statement.location)
                statements.append(variables[temporary])
            rewriter.mapping[pointer] = variables[temporary]
        if statement not in rewriter.mapping:
            statements.append(statement)
    task.body.statements = statements
    rewriter.block(task.body)


def _load(rewriter: Rewriter, load: Statement) -> Statement | None:
    assert isinstance(load, GlobalLoad)
    if not isinstance(base_pointer(load.pointer), Alloca):
        return None
    return rewriter.emit(LocalLoad(load.pointer, type=load.type, name=load.name), load)


def _store(rewriter: Rewriter, store: Statement) -> Statement | None:
    assert isinstance(store, GlobalStore)
    if not isinstance(base_pointer(store.pointer), Alloca):
        return None
    return rewriter.emit(LocalStore(store.pointer, store.value), store)
