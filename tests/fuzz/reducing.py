"""Reduce a program while a failure stays: drop statements, take a block's statements out of it, simplify expressions.

What keeps a program well-defined is left as it is, as far as it can be seen: indices of stores in parallel loops,
divisors, shift counts, arguments of casts of reals. `is_valid` of the caller finds the rest.
"""

from __future__ import annotations

import ast
import pickle
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

Attempts = Callable[[Sequence[str]], "int | None"]
"""Returns the position of the first of some programs that fails as the given one does, None if none does."""


def reduce(
    text: str,
    first_failing: Attempts,
    at_a_time: int = 1,
    most: int = 2000,
    may_go_on: Callable[[int, ast.Module], bool] = lambda attempts, tree: True,
) -> str:
    """Return a shorter program that still fails, after at most `most` attempts, `at_a_time` of them together.

    may_go_on: is asked before each attempt; takes the number of attempts so far and the shortest program.
    """
    left = [most]
    seen: set[str] = {text}

    def tried(trees: Iterator[tuple[int, ast.Module]]) -> tuple[int, ast.Module] | None:
        """Return the first of the candidates that fails, with its number."""
        batch: list[tuple[int, ast.Module, str]] = []
        while goes_on():
            entry = next(trees, None)
            if entry is not None:
                number, tree = entry
                candidate = ast.unparse(ast.fix_missing_locations(tree)) + "\n"
                if candidate not in seen and not has_new_parallel_loop(tree):
                    seen.add(candidate)
                    left[0] -= 1
                    batch.append((number, tree, candidate))
            if batch and (entry is None or len(batch) == at_a_time):
                position = first_failing([candidate for _, _, candidate in batch])
                if position is not None:
                    return batch[position][:2]
                batch = []
            if entry is None:
                return None
        return None

    def goes_on() -> bool:
        return left[0] > 0 and may_go_on(most - left[0], tree)

    tree = ast.parse(text)
    before = ""
    while before != ast.unparse(tree) and goes_on():
        before = ast.unparse(tree)
        for candidates in (drop_statements, unwrap_blocks, simplify):
            tree = shrink(tree, candidates, tried)
    return ast.unparse(tree) + "\n"


def has_new_parallel_loop(tree: ast.Module) -> bool:
    """Return whether a loop that was serial (its index is `k1`, not `i1`) is now an outermost one without `serialize`.

    Loops of a `ti.func` count where a kernel calls it outside of all loops and branches, since it is inlined.
    """
    functions = {f.name: f for f in tree.body if isinstance(f, ast.FunctionDef)}

    def is_parallel(function: ast.FunctionDef) -> bool:
        return any(
            is_loop(above, statement) or any(is_parallel(called) for called in called_at_once(statement))
            for above, statement in zip([None, *function.body], function.body)
        )

    def is_loop(above: ast.stmt | None, statement: ast.stmt) -> bool:
        is_serial = above is not None and ast.unparse(above).startswith("ti.loop_config(serialize")
        return (
            isinstance(statement, ast.For)
            and not is_serial
            and ast.unparse(statement.target).lstrip("(").startswith("k")
        )

    def called_at_once(statement: ast.stmt) -> Iterator[ast.FunctionDef]:
        """Yield the functions that are inlined outside of the statement's blocks."""
        heads = [statement.iter] if isinstance(statement, ast.For) else [getattr(statement, "test", statement)]
        if isinstance(statement, ast.For) and "static" in ast.unparse(statement.iter):
            heads += statement.body
        for node in (node for head in heads for node in ast.walk(head)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
                called = functions[node.func.id]
                if decorator_of(called) == "ti.func":
                    yield called

    return any(is_parallel(function) for function in functions.values() if decorator_of(function) == "ti.kernel")


def decorator_of(function: ast.FunctionDef) -> str:
    """Return what a function of a program is: "ti.kernel", "ti.func", "ti.real_func", "" for Python's."""
    return ast.unparse(function.decorator_list[0]) if function.decorator_list else ""


def shrink(
    tree: ast.Module,
    candidates: Callable[[ast.Module], Iterator[ast.Module]],
    tried: Callable[[Iterator[tuple[int, ast.Module]]], tuple[int, ast.Module] | None],
) -> ast.Module:
    """Return the program after all changes of a kind under which it still fails."""
    start = 0
    while (found := tried(islice(enumerate(candidates(tree)), start, None))) is not None:
        start, tree = found
    return tree


def copied(tree: ast.Module) -> ast.Module:
    """Return a copy of a program, in a fifth of the time that `copy.deepcopy` takes."""
    copy: ast.Module = pickle.loads(pickle.dumps(tree, pickle.HIGHEST_PROTOCOL))
    return copy


def blocks(tree: ast.AST) -> list[list[ast.stmt]]:
    """Return all lists of statements, outermost first."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                found.append(block)
    return found


def drop_statements(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield the program without some statements of a block: halves, quarters, single ones."""
    for place, block in enumerate(blocks(tree)):
        size = len(block)
        while size >= 1:
            for begin in range(0, len(block), size):
                if all(is_needed(statement) for statement in block[begin : begin + size]):
                    continue
                changed = copied(tree)
                other = blocks(changed)[place]
                rest = [s for k, s in enumerate(other) if not begin <= k < begin + size or is_needed(s)]
                is_module = block is tree.body
                other[:] = rest or ([] if is_module else [ast.Pass()])
                if rest != other or len(rest) != len(block):
                    yield changed
            size //= 2


def is_needed(statement: ast.stmt) -> bool:
    """Return whether a program without a statement would be no program, or one that does not end."""
    text = ast.unparse(statement)
    if isinstance(statement, (ast.Import, ast.ImportFrom, ast.Pass)):
        return True
    if isinstance(statement, ast.FunctionDef) and statement.name == "run":
        return True
    return text.startswith(("results = ", "return results")) or (
        isinstance(statement, ast.AugAssign) and text.startswith("w") and text.endswith("+= 1")
    )


def unwrap_blocks(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield the program with a compound statement replaced by its body, or without its other branch."""
    for place, block in enumerate(blocks(tree)):
        for k, statement in enumerate(block):
            if isinstance(statement, ast.If):
                if statement.orelse:
                    changed = copied(tree)
                    blocks(changed)[place][k].orelse = []  # type: ignore[attr-defined]
                    yield changed
                for name in ("body", "orelse"):
                    if getattr(statement, name):
                        changed = copied(tree)
                        other = blocks(changed)[place]
                        other[k : k + 1] = getattr(other[k], name)
                        yield changed
            elif isinstance(statement, (ast.For, ast.While)):
                changed = copied(tree)
                other = blocks(changed)[place]
                other[k : k + 1] = other[k].body  # type: ignore[attr-defined]
                yield changed


def simplify(tree: ast.Module) -> Iterator[ast.Module]:
    """Yield the program with an expression replaced by one of its operands, or by a number."""
    for number, (node, name, k) in enumerate(expressions(tree)):
        value = child(node, name, k)
        for option in range(len(replacements(value))):
            changed = copied(tree)
            target, field, place = expressions(changed)[number]
            new = replacements(child(target, field, place))[option]
            if place is None:
                setattr(target, field, new)
            else:
                getattr(target, field)[place] = new
            yield changed


def child(node: ast.AST, name: str, k: int | None) -> ast.expr:
    """Return an expression by its place."""
    found = getattr(node, name)
    return found if k is None else found[k]


def expressions(tree: ast.AST) -> list[tuple[ast.AST, str, int | None]]:
    """Return the places of all expressions in functions that may be changed."""
    found: list[tuple[ast.AST, str, int | None]] = []

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                visit(statement)
            return
        for name, value in ast.iter_fields(node):
            if isinstance(node, ast.Attribute) or (name in ("target", "targets", "func", "slice", "iter", "op", "ops")):
                if name in ("iter",) and isinstance(value, ast.Call):
                    for place in range(len(value.args)):
                        if isinstance(value.args[place], ast.Constant):
                            found.append((value, "args", place))
                continue
            if isinstance(value, ast.expr):
                found.append((node, name, None))
                visit(value)
            elif isinstance(value, list):
                for k, item in enumerate(value):
                    if isinstance(item, ast.expr):
                        found.append((node, name, k))
                    visit(item) if isinstance(item, ast.AST) else None

    visit(tree)
    return found


def replacements(node: ast.expr) -> list[ast.expr]:
    """Return shorter expressions to try for one."""
    found: list[ast.expr] = []
    match node:
        case ast.BinOp():
            found = [node.left, node.right]
        case ast.UnaryOp():
            found = [node.operand]
        case ast.BoolOp():
            found = list(node.values)
        case ast.IfExp():
            found = [node.body, node.orelse]
        case ast.Call():
            found = [a for a in node.args if not is_type(a)]
        case ast.Compare() if len(node.comparators) > 1:
            return [ast.Compare(node.left, node.ops[:1], node.comparators[:1])]
        case ast.Compare():
            return [ast.Constant(True), ast.Constant(False)] if isinstance(node.left, ast.Constant) else []
        case ast.List() if len(node.elts) > 1:
            zero: list[ast.expr] = [ast.Constant(0) for _ in node.elts]
            return [] if ast.unparse(ast.List(zero, ast.Load())) == ast.unparse(node) else [ast.List(zero, ast.Load())]
        case ast.Constant(value=int() as value) if value is not True and value is not False:
            return [ast.Constant(n) for n in (0, 1, 2) if n < value]
    if not isinstance(node, (ast.Constant, ast.Name, ast.Tuple, ast.Attribute)):
        found += [ast.Constant(0), ast.Constant(1)]
    return found


def is_type(node: ast.expr) -> bool:
    """Return whether an argument is a type, such as `ti.i32`."""
    return isinstance(node, ast.Attribute)
