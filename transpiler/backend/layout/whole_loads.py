"""Functions that load a matrix by 16 bytes at a time, for languages whose compilers load it number by number (GLSL).

mat4 bones(int i) {
    ReadF32x4 rows = ReadF32x4(args.bones_data);
    return transpose(mat4(rows.v[i * 4], rows.v[i * 4 + 1], rows.v[i * 4 + 2], rows.v[i * 4 + 3]));
}

Such a function has the name of the array and is called where others have a macro. The array is a field with memory of
its own, which starts at a multiple of 16 bytes; it is loaded as a whole only, and nothing writes it. 2^20 sums of
four products with a matrix out of 64 took an H200 .101 ms before, and .044 ms after. A million numbers in matrices of
6 x 6 take a third of the time.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...ir.elements.own_memory import is_alone
from ...ir.statements import Array
from ...ir.types import Tensor
from ..languages.common.language import Language
from ..languages.common.tensors import element_source, is_native, name_of
from .usage import Usage

BYTES = 16
"""Of a load."""
LEAST = 2
"""Loads of a matrix that is worth a function."""


def row_of(array: Array, usage: Usage, language: Language) -> Tensor | None:
    """Return the vectors by which an array is loaded, None if it is by elements."""
    element = array.element
    if language.has_pointers or not isinstance(element, Tensor) or array.strided or array.clamped:
        return None
    if not is_alone(array) or array in usage.written or array in usage.in_parts or array in usage.flat:
        return None
    is_whole = element.element.size_bytes == 4 and element.size_bytes % BYTES == 0
    return Tensor((4,), element.element) if is_whole and element.size_bytes >= LEAST * BYTES else None


def helpers_of(array: Array, language: Language) -> tuple[str, ...]:
    """Return the keys of what the function of an array needs."""
    assert isinstance(array.element, Tensor)
    return () if _has_rows(language, array.element) else language.unroll_helpers


def load_function(
    array: Array, name: str, letters: Sequence[str], number: str, data: str, rows: str, language: Language
) -> str:
    """Return the function that loads an element. number: of the element, of `letters`. rows: the type of the memory."""
    tensor = array.element
    assert isinstance(tensor, Tensor)
    kind, count = name_of(language, tensor), tensor.size_bytes // BYTES
    first = number if number in letters else f"({number})"
    parameters = ", ".join(f"int {letter}" for letter in letters)
    lines = [
        "// by 16 bytes at a time: drivers load matrices number by number",
        f"{kind} {name}({parameters}) {{",
        f"    {rows} rows = {rows}({data});",
        f"    int first = {first} * {count};",
    ]
    if _has_rows(language, tensor):
        own = ", ".join(f"rows.v[first{f' + {row}' if row else ''}]" for row in range(count))
        lines.append(f"    return transpose({name_of(language, Tensor((4, count), tensor.element))}({own}));")
    else:
        lines += [f"    {kind} result;", *_loops(language, tensor), "    return result;"]
    return "\n".join([*lines, "}"])


def _has_rows(language: Language, tensor: Tensor) -> bool:
    """Return whether each load is a row of a matrix that the language has itself."""
    return is_native(language, tensor) and len(tensor.shape) == 2 and tensor.shape[1] == 4


def _loops(language: Language, tensor: Tensor) -> list[str]:
    """Return the loop over all numbers: compilers load those of 16 bytes once."""
    unroll = language.unroll
    indices = ["k"] if len(tensor.shape) == 1 else [f"k / {tensor.shape[1]}", f"k % {tensor.shape[1]}"]
    return [
        f"    {unroll}for (int k = 0; k < {tensor.size}; k++) {{",
        f"        {element_source(language, tensor, 'result', indices)} = rows.v[first + k / 4][k % 4];",
        "    }",
    ]
