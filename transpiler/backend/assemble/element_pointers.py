"""Numbers of elements that are counted up (`step_addresses`) are pointers in the source, where a language has them.

    int64_t x_from = row * n1 + k;                 const float *x_from = &x_at(row * n1 + k);
    ... x_at(x_from + load * x_step) ...     ->    ... x_from[load * x_step] ...
    x_from += 16;                                  x_from += 16;

In: the block of a function, and where its values are printed. Out: its variables, with the array of each.
"""

from __future__ import annotations

from ...ir.nodes import Block, Statement, users_of, walk
from ...ir.statements import Array, GlobalLoad, GlobalPtr, LocalLoad, LocalStore
from ..languages.common.language import Language
from ..languages.common.syntax import stored_type
from ..print.local_memory import counted_variable, is_counted
from ..print.placement import Placement


def _is_by_number(pointer: GlobalPtr) -> bool:
    """Return whether a pointer is of one element by its number."""
    return pointer.is_flat and pointer.lanes == 1 and not pointer.by_word


def element_pointers(block: Block, placement: Placement, language: Language) -> dict[Statement, Array]:
    """Return the variables that only find elements of one array, which are loaded, and are only added to."""
    if not language.has_pointers:
        return {}
    statements = list(walk(block))
    found: dict[Statement, Array] = {}
    for pointer in statements:
        if isinstance(pointer, GlobalPtr) and _is_by_number(pointer) and pointer.type is not None:
            variable = counted_variable(pointer)
            if variable is not None and stored_type(language, pointer.type) is pointer.type:
                found[variable] = pointer.array
    if not found:
        return {}  # most
    users = users_of(statements)

    def is_element(value: Statement, variable: Statement) -> bool:
        """Return whether a sum is the number of an element that is loaded, or the next number of the variable."""
        for user in users[value]:
            match user:
                case LocalStore() if placement.compound.get(user) is value:
                    continue
                case GlobalPtr(array=array, is_flat=True, lanes=1, by_word=False) if array is found[variable]:
                    if not all(isinstance(access, GlobalLoad) for access in users[user]):
                        return False
                case _:
                    return False
        return True

    def is_pointer(variable: Statement) -> bool:
        for user in users[variable]:
            if isinstance(user, LocalLoad):
                fits = all(is_counted(s) and is_element(s, variable) for s in users[user])
            else:
                is_first = placement.declared_by_store.get(variable) is user
                fits = isinstance(user, LocalStore) and (is_first or user in placement.compound)
            if not fits:
                return False
        return variable in placement.declared_by_store

    return {variable: array for variable, array in found.items() if is_pointer(variable)}
