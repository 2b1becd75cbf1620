"""The address of a number in a buffer of GLSL: the buffer reference, and how many numbers are before it.

In: a pointer. Out: sources, for functions that take an element of a buffer in another type, such as atomic operations
on the bits of a float.
"""

from __future__ import annotations

from ...ir.nodes import Statement
from ...ir.statements import Const, GlobalPtr, GlobalTemporary, MatrixPtr, StructPtr, base_pointer
from ...ir.types import Scalar, Struct, Tensor, Type, element_of, member_offset
from ..languages.common.syntax_forms import MULTIPLY
from ..layout.accessors import cell_of, clamped, less_offset, strided
from ..layout.tree_structs import numbered_place, place_number
from .expressions import Expressions


def scalar_address(e: Expressions, pointer: Statement) -> tuple[str, str]:
    """Return the buffer reference that contains a GLSL lvalue, and the number of its first scalar there."""
    assert pointer.type is not None
    base, unit = base_pointer(pointer), element_of(pointer.type).size_bytes
    offset, flat = _offset_inside(e, pointer, unit)
    e.uses_args = True
    if isinstance(base, GlobalTemporary):
        number = e.layout.temporaries.offsets[base.temporary] // unit + offset
        return "args.temporaries", f"uint({number} + {flat})" if flat else f"{number}u"
    assert isinstance(base, GlobalPtr) and base.type is not None
    if (place := base.array.place) is not None:
        indices = [e.of(index).source for index in base.indices]
        if base.is_flat:
            parts = numbered_place(place, indices[0], unit)
        else:
            indices = less_offset(base.array, indices)
            cell = cell_of(place, indices, e.layout.cells) if base.cell is None else f"({e.of(base.cell).source})"
            parts = [place_number(place, indices, e.target, unit, cell)]
        parts += [text for text in (str(offset or ""), flat) if text]
        return e.data_of(base.array), f"uint({' + '.join(parts)})"
    linear = _linear(e, base)
    if not isinstance(base.type, Scalar):
        linear = f"{linear if linear.isidentifier() else f'({linear})'} * {base.type.size_bytes // unit}"
        parts = [linear, *([str(offset)] if offset or not flat else []), *([flat] if flat else [])]
        linear = " + ".join(parts)
    return e.data_of(base.array), f"uint({linear})"


def _offset_inside(e: Expressions, pointer: Statement, unit: int) -> tuple[int, str]:
    """Return the offset of `pointer` in its element: a constant number of scalars, and a computed one."""
    offset, flat = 0, ""
    while isinstance(pointer, (MatrixPtr, StructPtr)):
        origin = pointer.origin
        if isinstance(pointer, StructPtr):
            assert isinstance(origin.type, Struct)
            offset += member_offset(origin.type, pointer.member) // unit
        else:
            component = _component(e, pointer.indices, origin.type)
            offset, flat = (offset + int(component), "") if component.isdigit() else (offset, component)
        pointer = origin
    return offset, flat


def _component(e: Expressions, indices: list[Statement], kind: Type | None) -> str:
    assert isinstance(kind, Tensor)
    columns = kind.shape[-1]
    numbers = [int(i.value) for i in indices if isinstance(i, Const)]
    if len(numbers) == len(indices):
        return str(numbers[0] if len(numbers) == 1 else numbers[0] * columns + numbers[1])
    rows = [e.operand(i, MULTIPLY) for i in indices]
    return rows[0] if len(rows) == 1 else f"{rows[0]} * {columns} + {rows[1]}"


def _linear(e: Expressions, pointer: GlobalPtr) -> str:
    array = pointer.array
    if pointer.is_flat:
        return e.of(pointer.indices[0]).source
    is_sum = len(pointer.indices) > 1 or array.strided
    texts = [e.operand(index, MULTIPLY) if is_sum else e.of(index).source for index in pointer.indices]
    texts = clamped(array, less_offset(array, texts), e.layout.shapes)
    if array.strided and array.ndim:
        return strided(texts, e.layout.strides[array], e.layout.first_elements.get(array))
    text = ""
    for axis, index in enumerate(texts):
        if axis == 0:
            text = f"({index})" if array.offset and is_sum else index
            continue
        extent = e.layout.shapes[array, axis] if array.shape is None else e.extent(array, axis)
        text = f"{text if axis == 1 else f'({text})'} * {extent} + {index}"
    return text or "0"
