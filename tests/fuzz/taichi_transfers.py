"""Copies between NumPy and Taichi's fields by one kernel for all of them: most of a program's time was Taichi compiling
one kernel for each field and direction. Imported by the worker that runs Taichi 1.7.4, and by nothing else.

`from_numpy` and `to_numpy` of fields only note what to copy. It is copied before the next launch of
any kernel, before an element is read or stored from Python scope, and by `flush`.
"""

from __future__ import annotations

import itertools
import linecache
from typing import Any

import numpy as np
import taichi as ti
from taichi.lang.ast import ast_transformer_utils
from taichi.lang.field import Field
from taichi.lang.kernel_impl import Kernel
from taichi.lang.util import to_numpy_type

NUMBERS = itertools.count()
WAITING: list[tuple[Any, np.ndarray, bool]] = []
"""Fields, arrays, and whether the field is written."""
QUANTISED = {"qi": np.int32, "qu": np.uint32}
"""Types that elements of a few bits are computed with, by the start of their types' names: `to_numpy` of Taichi refuses
these fields."""


def install() -> None:
    """Replace the copies of fields, and leave out the places that Taichi's errors show: making these takes long, too."""
    for kind in (ti.ScalarField, ti.MatrixField):
        kind.from_numpy = _from_numpy
        kind.to_numpy = _to_numpy
    # Every launch, also of methods and of Taichi's own kernels such as `fill`, and every access from Python scope.
    Kernel.__call__ = _after_copies(Kernel.__call__)
    Field._initialize_host_accessors = _after_copies(Field._initialize_host_accessors)
    ast_transformer_utils.ASTTransformerContext.get_pos_info = lambda self, node: f"line {node.lineno}\n"


def forget() -> None:
    """Drop what waits: a program that raised has left it."""
    WAITING.clear()


def flush() -> None:
    """Copy what waits, in order."""
    waiting = WAITING[:]
    WAITING.clear()  # the copies themselves are launches
    for is_write, group in itertools.groupby(waiting, lambda item: item[2]):
        _copy([(field, array) for field, array, _ in group], is_write)


def _after_copies(method: Any) -> Any:
    def run(*arguments: Any, **named: Any) -> Any:
        flush()
        return method(*arguments, **named)

    return run


def _from_numpy(field: Any, array: np.ndarray) -> None:
    WAITING.append((field, np.array(array, order="C"), True))


def _to_numpy(field: Any) -> np.ndarray:
    shape = field.shape
    if isinstance(field, ti.MatrixField):
        shape += (field.n,) if field.m == 1 else (field.n, field.m)  # of a matrix of one column, too
    name = field.dtype.to_string()
    type = QUANTISED.get(name[:2]) if name[2:].isdigit() else None
    array = np.zeros(shape, type or to_numpy_type(field.dtype))
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
        if field.m == 1:
            component = "p" if field.ndim == 1 else "p, 0"
            _assign(lines, "            ", f"a{k}[I - ti.static(o{k}), p]", f"f{k}[I][{component}]", is_write)
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
