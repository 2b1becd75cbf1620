"""A module whose texts a person has changed: what the launcher must know is read from the text again.

In: a generated module and texts. Out: a module that launches as the changed text asks: `BLOCK` threads a block, `ITEMS`
turns a thread. Everything else of the interface stays the generated one; `check.py` sees to it that the text agrees.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

from ...transpiler.backend.module.interface import BackendModule, SourceFile, TaskSource
from .merge import carried_lines

ITEMS = "ITEMS"
_NUMBER = re.compile(r"\b(0[xX][0-9a-fA-F]+|\d+)[uUlL]*\b")
_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+)$", re.MULTILINE)
_CONSTANT = re.compile(r"\bconst(?:expr)?\s+(?:unsigned\s+)?(?:u?int|long|unsigned)\s+(\w+)\s*=\s*([^;]+);")
_LOCAL_SIZE = re.compile(r"\blocal_size_([xyz])\s*=\s*([^,)]+)")
_STRIDES = re.compile(r"\b(?:gridDim\s*\.\s*x|gl_NumWorkGroups)\b")
_ROWS = re.compile(r"\bgl_(?:WorkGroup|GlobalInvocation)ID\b(?!\s*\.\s*x\b)")
_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.LShift: operator.lshift,
    ast.Div: operator.floordiv, ast.Mod: operator.mod,
}  # fmt: skip


def edited_module(generated: BackendModule, texts: Mapping[str, str]) -> BackendModule:
    """Return the module with other texts. texts: by name of the file; those of files not named stay."""
    files = tuple(_edited_file(file, texts.get(file.name, file.text)) for file in generated.files)
    changed = {k for k, (old, new) in enumerate(zip(generated.files, files)) if old.text != new.text}
    tasks = tuple(
        _edited_task(generated, task, files[task.file].text) if task.file in changed else task
        for task in generated.tasks
    )
    return replace(generated, files=files, tasks=tasks)


def _edited_file(file: SourceFile, text: str) -> SourceFile:
    if text == file.text:
        return file
    return replace(file, text=text, lines=carried_lines(file.text, file.lines, text))


def _edited_task(module: BackendModule, task: TaskSource, text: str) -> TaskSource:
    if task.kind == "serial" or module.target == "c":
        return task
    bare = _COMMENTS.sub(" ", text)
    folded = module.target != "vulkan" or bool(_ROWS.search(bare))
    strided = task.strided and bool(_STRIDES.search(bare)) and not (folded and module.target == "vulkan")
    items = max(1, constant(text, ITEMS) or 1)
    return replace(task, block_dim=block_of(module, task, text), items=items, strided=strided, folded=folded)


def block_of(module: BackendModule, task: TaskSource, text: str) -> int:
    """Return how many threads of a block a text is written for; the generated number where it does not say."""
    if module.target == "vulkan":
        sizes = [evaluate(size, constants(text)) for _, size in _LOCAL_SIZE.findall(_COMMENTS.sub(" ", text))]
        known = [size for size in sizes if size]
        return prod(known) if known else task.block_dim
    names = (f"BLOCK_{task.block_dim}", "BLOCK")
    return next((n for name in names if (n := constant(text, name)) is not None and n > 0), task.block_dim)


def constant(text: str, name: str) -> int | None:
    """Return the integer that a text defines by `#define name ...` or `const int name = ...;`, None if it does not."""
    known = constants(text)
    return evaluate(known[name], known) if name in known else None


def constants(text: str) -> dict[str, str]:
    """Return what a text defines by name: macros without parameters, and constants."""
    bare = _COMMENTS.sub(" ", text)
    return {name: value.strip() for found in (_DEFINE, _CONSTANT) for name, value in found.findall(bare)}


def evaluate(expression: str, known: Mapping[str, str], depth: int = 0) -> int | None:
    """Return the value of an integer expression of numbers, names and + - * / % <<; None for anything else."""
    try:
        return _value(ast.parse(_NUMBER.sub(r"\1", expression).strip(), mode="eval").body, known, depth)
    except (SyntaxError, ValueError, ZeroDivisionError, MemoryError, RecursionError):
        return None


def _value(node: Any, known: Mapping[str, str], depth: int) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.Name(id=name) if name in known and depth < len(known):
            found = evaluate(known[name], known, depth + 1)
            if found is not None:
                return found
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            one, other = _value(left, known, depth), _value(right, known, depth)
            if not (isinstance(op, ast.LShift) and not 0 <= other < 64):
                return _OPERATORS[type(op)](one, other)
    raise ValueError
