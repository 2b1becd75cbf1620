"""Candidates for loops: threads of a block, threads of the CPU, serial loops, unrolling."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from .candidate import Candidate, State, candidates
from .python_text import FunctionText, statements_before

BLOCK = re.compile(r"#define BLOCK(?:_\d+)? (\d+)")
THREADS = re.compile(r"num_threads ?\((\d+)\)")
UNROLL = re.compile(r"#pragma (?:GCC )?unroll(?: ?\(?(\d+)\)?)?")


def blocks(state: State) -> Iterator[Candidate]:
    """`ti.loop_config(block_dim=64)` for `#define BLOCK 64`."""
    for number in _numbers(BLOCK, state.added()):
        yield from _configured(state, {"block_dim": number})
        for value in ("True", "False"):  # blocks of another size may have another grid
            yield from _configured(state, {"block_dim": number, "grid_stride": value})


def cpu_threads(state: State) -> Iterator[Candidate]:
    """`ti.loop_config(parallelize=4)` for `num_threads(4)`, `serialize=True` for a pragma that is gone."""
    for number in _numbers(THREADS, state.added()):
        yield from _configured(state, {"parallelize": number})
    tokens = [*state.removed(), *state.added()]
    if any(token.startswith("#pragma omp") or "blockIdx" in token or "gl_WorkGroupID" in token for token in tokens):
        yield from _configured(state, {"serialize": "True"})


def grids(state: State) -> Iterator[Candidate]:
    """`ti.loop_config(grid_stride=...)`, with the number of threads that the edit has."""
    for value in ("True", "False"):
        yield from _configured(state, {"grid_stride": value})


def unrolled(state: State) -> Iterator[Candidate]:
    """`ti.loop_config(unroll=True)` or `ti.static(range(8))` for `#pragma unroll`, and the loop without `ti.static`."""
    added, removed = list(state.added()), list(state.removed())
    counts = [match[1] for match in map(UNROLL.match, added) if match is not None]
    is_wanted = bool(counts) or "unroll" in added
    for number in dict.fromkeys([*filter(None, counts), *(["True"] if is_wanted else [])]):
        yield from _configured(state, {"unroll": number}, is_inner=True)
    for _, node in statements_before(state.text.tree.body):
        if not isinstance(node, ast.For):
            continue
        inner = _static_argument(node)
        if is_wanted and inner is None and state.module_name:
            text = f"{state.module_name}.static({state.text.text(node.iter)})"
            yield from candidates(
                state.text.replaced(node.iter, text), f"`for {_target(state.text, node)} in {text}`", node
            )
        elif inner is not None and any("unroll" in token for token in removed):
            text = state.text.text(inner)
            yield from candidates(
                state.text.replaced(node.iter, text), f"`for {_target(state.text, node)} in {text}`", node
            )


def _numbers(pattern: re.Pattern[str], tokens: Iterator[str]) -> list[str]:
    return list(dict.fromkeys(match[1] for match in map(pattern.search, tokens) if match is not None))


def _target(text: FunctionText, node: ast.For) -> str:
    return text.text(node.target)


def _static_argument(node: ast.For) -> ast.expr | None:
    call = node.iter
    is_static = isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "static"
    return call.args[0] if isinstance(call, ast.Call) and is_static and len(call.args) == 1 else None


def _configured(state: State, options: Mapping[str, str], is_inner: bool = False) -> Iterator[Candidate]:
    """Yield options of `ti.loop_config` for each loop, then for all of them together."""
    count = len(list(_loops(state.text, is_inner)))
    if not state.module_name:
        return
    call = f"{state.module_name}.loop_config({', '.join(f'{name}={value}' for name, value in options.items())})"
    for index in range(count):
        made = _with_options(state, state.text, index, options, is_inner)
        yield from candidates(made, f"`{call}`", list(_loops(state.text, is_inner))[index][1])
    if count > 1:
        together: FunctionText | None = state.text
        for index in range(count):
            together = together and _with_options(state, together, index, options, is_inner)
        yield from candidates(together, f"`{call}` for each loop", next(_loops(state.text, is_inner))[1])


def _with_options(
    state: State, text: FunctionText, index: int, options: Mapping[str, str], is_inner: bool
) -> FunctionText | None:
    """Return the function with options of one loop."""
    made: FunctionText | None = text
    for name, value in options.items():
        if made is not None:
            before, loop = list(_loops(made, is_inner))[index]
            made = _with_option(state, made, before, loop, name, value)
    return made


def _loops(text: FunctionText, is_inner: bool) -> Iterator[tuple[ast.stmt | None, ast.For]]:
    """Yield the outermost loops, or those inside, with the statements before them."""
    outermost = [node for node in text.tree.body if isinstance(node, ast.For)]
    for before, node in statements_before(text.tree.body):
        if isinstance(node, ast.For) and _static_argument(node) is None and (node not in outermost) == is_inner:
            yield before, node


def _with_option(
    state: State, text: FunctionText, before: ast.stmt | None, loop: ast.For, option: str, value: str
) -> FunctionText | None:
    """Return the function with an option of a loop, in the call above it if there is one."""
    call = before.value if isinstance(before, ast.Expr) else None
    if not (isinstance(call, ast.Call) and text.text(call.func).endswith("loop_config")):
        return text.with_line_above(loop, f"{state.module_name}.loop_config({option}={value})")
    old = next((keyword for keyword in call.keywords if keyword.arg == option), None)
    if old is not None:
        return text.replaced(old.value, value)
    last = max((keyword.value for keyword in call.keywords), key=lambda node: (node.lineno, node.col_offset))
    return text.replaced(last, f"{text.text(last)}, {option}={value}")
