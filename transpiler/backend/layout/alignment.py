"""Which vectors, matrices and structs are aligned to more than their numbers, so that an instruction moves several.

A field with memory of its own starts at a multiple of 16 bytes, and so does each of its elements of so many bytes. An
ndarray may start anywhere; structs, `Args` and temporaries have no gap before a member. A type is aligned if all of its
values are in such fields. If others are not, the fields have a hint:

    struct alignas(16) Weight { float w, g, m, v; };        #define x(i) aligned(args.x_data)[i]  // 8 bytes each

2^22 structs of 16 bytes, of which three members change, took an H200 .044 ms by numbers, .042 aligned, .034 where the
fourth one is stored, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from ...ir.statements import Array
from ...ir.tasks import Kernel, with_members
from ...ir.types import Scalar, Struct, Tensor, Type, alignment_bytes, parts_of
from ..languages.common.target import Target
from ..languages.common.tensors import built_in_vector, whole_alignment
from .usage import Usage


def aligned_structs(
    kernel: Kernel, target: Target, usage: Usage, in_trees: Iterable[Iterable[Type]]
) -> frozenset[Struct]:
    """Return such structs. in_trees: the types of the fields in each tree that the kernel uses."""
    if not target.language.aligned:
        return frozenset()
    found = {array.element for array in usage.arrays if _has_aligned_elements(array)}
    others = [array.element for array in usage.arrays if not _has_aligned_elements(array)]
    others += [type for types in in_trees for type in types]
    others += [*kernel.returns, *(temporary.type for temporary in kernel.temporaries)]
    others += [parameter.type for parameter in usage.parameters]
    others += [member for type in found if isinstance(type, Struct) for _, member in type.members]
    inside = set(with_members(type for type in others if isinstance(type, Struct)))
    return frozenset(type for type in found if isinstance(type, Struct) and type not in inside)


def aligned_tensors(target: Target, usage: Usage, memory_types: Sequence[Type]) -> frozenset[Tensor]:
    """Return such vectors and matrices. Vectors only in registers are added where the language has them itself.

    memory_types: of all that is stored, once for each place.
    """
    if not target.language.aligned:
        return frozenset()
    others = [*memory_types, *(parameter.type for parameter in usage.parameters)]
    found: set[Tensor] = set()
    for array in usage.arrays:
        if isinstance(array.element, Tensor) and _has_aligned_elements(array):
            others.remove(array.element)
            found.add(array.element)
    packed = {part for type in others for part in parts_of(type) if isinstance(part, Tensor)}
    found |= {type for type in usage.types if isinstance(type, Tensor) and built_in_vector(target.language, type)}
    return frozenset(found - packed).union(usage.wide.values())


def with_aligned_elements(target: Target, usage: Usage, aligned: Collection[Type]) -> frozenset[Array]:
    """Return the fields whose elements are aligned although values of their type elsewhere are not."""
    if not target.language.field_start:
        return frozenset()
    return frozenset(array for array in usage.arrays if array.element not in aligned and _has_aligned_elements(array))


def _has_aligned_elements(array: Array) -> bool:
    """Return whether the elements of an array are vectors, matrices or structs, at multiples of `whole_alignment`."""
    type = array.element
    if isinstance(type, Scalar) or whole_alignment(type) <= alignment_bytes(type):
        return False
    return array.shape is not None and array.place is None and not array.strided
