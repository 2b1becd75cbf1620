"""Candidates that are options of the compiler: of the kernel, in its decorator, or of the session.

Passes that are left out give loads of one element in place of four, memory that no block shares, a reduction by atomic
operations; passes that run again give the reverse.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from ...loading import loader
from .candidate import Candidate, State
from .python_text import FunctionText

_passes: Callable[[], Any] = loader("....transpiler.passes", __package__)

SESSION_OPTIONS: dict[str, tuple[Any, ...]] = {
    "check_out_of_bound": (False, True),
    "check_overflow": (False, True),
    "make_thread_local": (False, True),
    "make_block_local": (False, True),
    "unroll_static_loops": (True, False),
    "inline": (True, False, "auto"),
    "short_circuit_operators": (True, False),
}
"""Options of `ti.init` that change sources, with the values to try."""


def fast_math(state: State) -> Iterator[Candidate]:
    """`@ti.kernel(fast_math=...)`."""
    value = not state.options.fast_math
    text = _with_keyword(state.text, "fast_math", repr(value))
    if text is not None:
        yield Candidate(f"`fast_math={value}`", text, _line(state.text), {"fast_math": value})


def passes(state: State) -> Iterator[Candidate]:
    """`@ti.kernel(passes="-wide_accesses")`, for passes that change this kernel or that are left out now."""
    disabled = state.options.disabled_passes
    required = _passes().REQUIRED
    names = [name for name in dict.fromkeys(state.changed) if name not in required]
    for name in [*sorted(disabled), *names]:
        is_left_out = name in disabled
        item = f"{'+' if is_left_out else '-'}{name}"
        text = _with_pass(state.text, item)
        if text is not None:
            now = disabled - {name} if is_left_out else disabled | {name}
            yield Candidate(f'`passes="{item}"`', text, _line(state.text), {"disabled_passes": now})


def without_passes(state: State, text: FunctionText, changed: tuple[str, ...]) -> Candidate | None:
    """Return a function without the passes that change it only with another directive; None if there are none."""
    known = {*state.changed, *_passes().REQUIRED}
    names = [name for name in dict.fromkeys(changed) if name not in known]
    made: FunctionText | None = text if names else None
    for name in names:
        made = made and _with_pass(made, f"-{name}")
    if made is None:
        return None
    title = '`passes="' + ",".join(f"-{name}" for name in names) + '"`'
    return Candidate(title, made, _line(made), {"disabled_passes": state.options.disabled_passes | set(names)})


def session_options(state: State) -> Iterator[Candidate]:
    """`ti.init(check_out_of_bound=False)` and the like."""
    for name, values in SESSION_OPTIONS.items():
        for value in values:
            if value != getattr(state.options, name):
                title = f"`{state.module_name or 'ti'}.init({name}={value!r})`"
                yield Candidate(title, state.text, 0, {name: value})


def _decorator(text: FunctionText) -> ast.expr | None:
    for node in text.tree.decorator_list:
        name = node.func if isinstance(node, ast.Call) else node
        if (name.attr if isinstance(name, ast.Attribute) else getattr(name, "id", "")) == "kernel":
            return node
    return None


def _line(text: FunctionText) -> int:
    node = _decorator(text)
    return text.first_line if node is None else node.lineno


def _with_keyword(text: FunctionText, name: str, value: str) -> FunctionText | None:
    """Return the function with an argument of its decorator."""
    node = _decorator(text)
    if node is None:
        return None
    if not isinstance(node, ast.Call):
        return text.replaced(node, f"{text.text(node)}({name}={value})")
    old = next((one for one in node.keywords if one.arg == name), None)
    if old is not None:
        return text.replaced(old.value, value)
    if node.args or any(one.arg is None for one in node.keywords):
        return None
    if not node.keywords:
        return text.replaced(node, f"{text.text(node.func)}({name}={value})")
    last = node.keywords[-1].value
    return text.replaced(last, f"{text.text(last)}, {name}={value}")


def _with_pass(text: FunctionText, item: str) -> FunctionText | None:
    """Return the function with an item of `passes=`, in place of one about the same pass."""
    node = _decorator(text)
    keywords = node.keywords if isinstance(node, ast.Call) else []
    given = next((one.value for one in keywords if one.arg == "passes"), None)
    if given is None:
        return _with_keyword(text, "passes", f'"{item}"')
    try:
        written = ast.literal_eval(given)
    except ValueError:
        return None
    if isinstance(written, str):
        own = [name.strip() for name in written.split(",") if name.strip()]
        return text.replaced(given, '"' + ",".join([*_others(own, item), item]) + '"')
    if not isinstance(written, (list, tuple)) or not all(isinstance(name, str) for name in written):
        return None
    items = ", ".join(f'"{name}"' for name in [*_others(list(written), item), item])
    return text.replaced(given, f"[{items}]")


def _others(own: list[str], item: str) -> list[str]:
    """Return the items about other passes."""
    return [name for name in own if name[1:] != item[1:]]
