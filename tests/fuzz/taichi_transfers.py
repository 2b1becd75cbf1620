"""Copies between NumPy and Taichi's fields by one kernel for all of them: most of a program's time was Taichi compiling
one kernel for each field and direction. Imported by the worker that runs Taichi 1.7.4, and by nothing else.

`from_numpy` and `to_numpy` of fields only note what to copy. It is copied before the next kernel, and by `flush`.
"""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import taichi as ti
from taichi.lang.ast import ast_transformer_utils
from taichi.lang.util import to_numpy_type

NUMBERS = itertools.count()
WAITING: list[tuple[Any, np.ndarray, bool]] = []
"""Fields, arrays, and whether the field is written."""


def install() -> None:
    """Replace the copies of fields, and leave out the places that Taichi's errors show: making these takes long, too."""
    for kind in (ti.ScalarField, ti.MatrixField):
        kind.from_numpy = _from_numpy
        kind.to_numpy = _to_numpy
    ast_transformer_utils.ASTTransformerContext.get_pos_info = lambda self, node: f"line {node.lineno}\n"


def batched(module: Any) -> None:
    """Let the kernels of a program run after the copies that wait."""
    WAITING.clear()
    for name, value in list(vars(module).items()):
        if getattr(value, "_is_wrapped_kernel", False):
            setattr(module, name, _after_copies(value))


def flush() -> None:
    """Copy what waits."""
    while WAITING:
        is_write = WAITING[0][2]
        group = list(itertools.takewhile(lambda item: item[2] == is_write, WAITING))
        del WAITING[: len(group)]
        _copy([(field, array) for field, array, _ in group], is_write)


def _after_copies(kernel: Any) -> Any:
    def run(*arguments: Any) -> Any:
        flush()
        return kernel(*arguments)

    return run


def _from_numpy(field: Any, array: np.ndarray) -> None:
    WAITING.append((field, np.ascontiguousarray(array), True))


def _to_numpy(field: Any) -> np.ndarray:
    shape = field.shape
    if isinstance(field, ti.MatrixField):
        shape += (field.n,) if field.ndim == 1 else (field.n, field.m)
    array = np.zeros(shape, to_numpy_type(field.dtype))
    WAITING.append((field, array, False))
    return array


def _copy(pairs: list[tuple[Any, np.ndarray]], is_write: bool) -> None:
    names: dict[str, Any] = {"ti": ti}
    lines = ["@ti.kernel", f"def copy({', '.join(f'a{k}: ti.types.ndarray()' for k in range(len(pairs)))}):"]
    for k, (field, _) in enumerate(pairs):
        first = field if not _is_matrix(field) else field.get_scalar_field(*[0] * field.ndim)
        names[f"f{k}"], names[f"o{k}"] = field, list(first.snode.ptr.offset) or [0] * len(field.shape)
        lines.append(f"    for I in ti.grouped(f{k}):")
        if not _is_matrix(field):
            _assign(lines, "        ", f"a{k}[I - ti.static(o{k})]", f"f{k}[I]", is_write)
            continue
        lines.append(f"        for p in ti.static(range({field.n})):")
        if field.ndim == 1:
            _assign(lines, "            ", f"a{k}[I - ti.static(o{k}), p]", f"f{k}[I][p]", is_write)
        else:
            lines.append(f"            for q in ti.static(range({field.m})):")
            _assign(lines, "                ", f"a{k}[I - ti.static(o{k}), p, q]", f"f{k}[I][p, q]", is_write)
    file, source = f"<copies {next(NUMBERS)}>", "\n".join(lines) + "\n"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec", dont_inherit=True), names)  # noqa: S102 - made of numbers
    names["copy"](*(array for _, array in pairs))
    ti.sync()


def _is_matrix(field: Any) -> bool:
    return isinstance(field, ti.MatrixField)


def _assign(lines: list[str], indent: str, array: str, field: str, is_write: bool) -> None:
    target, value = (field, array) if is_write else (array, field)
    lines.append(f"{indent}{target} = {value}")
