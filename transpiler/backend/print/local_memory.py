"""Local variables that are no values in C: arrays, and pointers to elements.

In: the `Expressions` of a function, which know what its variables are (`local_arrays.py`, `element_pointers.py`). Out:
declarations and lvalues.
"""

from __future__ import annotations

from typing import Any

from ...ir.nodes import Statement
from ...ir.statements import Alloca, Const, GlobalPtr, LocalLoad, LocalStore, MatrixInit, Operation
from ...ir.types import Tensor, Type, i64
from ..languages.common.tensors import pointed_element
from .repetition import is_zero

SUMS = ("add", "wrapping_add")


def declared_array(e: Any, variable: Statement, name: str, start: Statement | None = None) -> str:
    """Return the declaration of an array. start: the vector of its first numbers, None if these are zeros."""
    assert isinstance(variable.type, Tensor)
    extents = "".join(f"[{extent}]" for extent in variable.type.shape)
    numbers = e.language.zero_values or ""
    if isinstance(start, MatrixInit) and not is_zero(start):
        numbers = ", ".join(e.of(element).source for element in start.elements)
    return f"{e.name_of_type(variable.type.element)} {name}{extents} = {{{numbers}}};"


def declared_pointer(e: Any, store: LocalStore, name: str) -> str:
    """Return the declaration of a pointer to elements, by the first store to its variable."""
    array = e.element_pointers[store.pointer]
    first = GlobalPtr(array, [store.value], is_flat=True, type=array.element)
    return f"const {e.name_of_type(array.element)} *{name} = &{e.lvalue(first)};"


def element_of_parameter(e: Any, pointer: str, tensor: Type | None, indices: list[Statement]) -> str:
    """Return an element of the tensor that a parameter points to."""
    assert isinstance(tensor, Tensor)
    numbers = [int(i.value) if isinstance(i, Const) else e.of(i).source for i in indices]
    return pointed_element(e.language, tensor, pointer, numbers)


def element_by_pointer(e: Any, pointer: GlobalPtr) -> str:
    """Return an element that is found by a pointer; "" if it is found by its number."""
    variable = counted_variable(pointer) if pointer.is_flat and not pointer.by_word else None
    if variable not in e.element_pointers:
        return ""
    return f"{e.lvalue(variable)}[{e.of(pointer.indices[0].operands[1]).source}]"  # type: ignore[attr-defined]


def counted_variable(pointer: GlobalPtr) -> Statement | None:
    """Return the variable to which a value is added for the number of an element, None if there is none."""
    index = pointer.indices[0]
    if not isinstance(index, Operation) or not is_counted(index):
        return None
    load = index.operands[0]
    assert isinstance(load, LocalLoad)
    return load.pointer if load.pointer.name is None and load.type == i64 else None


def is_counted(value: Statement) -> bool:
    """Return whether a value is a sum of a local variable and another value."""
    if not isinstance(value, Operation) or value.op not in SUMS:
        return False
    first, second = value.operands
    is_twice = isinstance(second, LocalLoad) and isinstance(first, LocalLoad) and second.pointer is first.pointer
    return isinstance(first, LocalLoad) and isinstance(first.pointer, Alloca) and not is_twice
