"""Numbers that keep their Python names: constants at the top of a source, and extents of fields among them.

    constexpr float dx = 0.0078125f;  // captured
    constexpr int u_n0 = 512, u_n1 = 8192;  // shape of u, w

Fields of one shape share its extents, under the name of the first of them.
In: the constants of a kernel (`ir/origins.py`) and its fields. Out: a name for each named number, which a source
declares if it uses it. These are constants of the language, not macros, so that members and helpers may have their
names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field

from ...ir.origins import Origin, extent_of
from ...ir.statements import Array, Const
from ...ir.tasks import Kernel
from ...ir.types import Scalar
from ...lazy_dataclasses import dataclass
from ..languages.common.language import Language
from ..languages.common.literals import literal
from ..languages.common.naming import Names, legal
from ..languages.common.one_line import COLUMNS

COMMON = ("i32", "f32")
"""Types whose numbers get the plain names first."""
MAX_EXPRESSION = 180
"""Characters of an expression in a comment; longer ones are cut."""
MAX_SHARED = 12
"""Fields that a comment names as those of one shape."""

Key = tuple[object, ...]


@dataclass(slots=True)
class NamedConstants:
    """The named numbers of a kernel. names: by `Origin.key`; numbers: by name; shapes: notes of extents, by name."""

    names: dict[Key, str] = field(default_factory=dict)
    numbers: dict[str, Origin] = field(default_factory=dict)
    shapes: dict[str, str] = field(default_factory=dict)

    def name(self, origin: Origin) -> str:
        """Return the name of a named number in the source."""
        return self.names[origin.key]

    def extent(self, array: Array, axis: int) -> str:
        """Return the extent of an array of constant shape: its name, or the number of an array that has none."""
        assert array.shape is not None
        number = str(array.shape[axis])
        return self.names.get(extent_of(array, axis).key, number) if number != "1" else number

    def declarations(self, language: Language, used: Iterable[str]) -> list[str]:
        """Return the declarations of those that a source uses, in the order of the kernel.

        Numbers of one type and one origin share a line: extents of a shape, captured numbers.
        """
        wanted = set(used)
        groups: dict[tuple[str, Scalar], list[str]] = {}
        for name in (name for name in self.numbers if name in wanted):
            origin = self.numbers[name]
            groups.setdefault((self.shapes.get(name) or _note(origin, name), origin.type), []).append(name)
        return [line for (note, _), names in groups.items() for line in self._lines(language, names, note)]

    def _lines(self, language: Language, names: Sequence[str], note: str) -> list[str]:
        """Return the declarations of numbers of one type, as many on a line as fit; a long note is above them."""
        lines: list[str] = []
        shown: list[str] = []
        for name in names:
            shown = [*shown, name]
            line = _declaration(language, [(each, self.numbers[each]) for each in shown])
            if len(shown) > 1 and len(line) > COLUMNS:
                shown = [name]
                line = _declaration(language, [(name, self.numbers[name])])
            lines[-1:] = [line] if len(shown) > 1 else [*lines[-1:], line]
        behind = [f"{line}  // {note}" for line in lines]
        return behind if len(lines) == 1 and len(behind[0]) <= COLUMNS else [f"// {note}", *lines]


def named_constants(kernel: Kernel, arrays: Iterable[Array], taken: frozenset[str]) -> NamedConstants:
    """Return the names of all numbers that sources of a kernel may use. taken: names that none may have."""
    fields = [array for array in arrays if array.shape is not None and not array.is_shared and not array.role]
    free = Names(taken.union([legal(array.name) for array in arrays]))
    found = NamedConstants()
    ordered = sorted(fields, key=lambda array: array.binding)
    shapes: dict[tuple[int, ...], list[Array]] = {}
    for array in ordered:
        if array.place is None and array.shape:
            shapes.setdefault(array.shape, []).append(array)
    extents = [extent_of(first, axis) for first, *_ in shapes.values() for axis in range(first.ndim)]
    for origin in (*extents, *_named(kernel)):
        if origin.key not in found.names:
            is_common = origin.type.name in COMMON or free.is_free(legal(origin.name))
            name = free.declare(origin.name if is_common else f"{origin.name}_{origin.type}")
            found.names[origin.key], found.numbers[name] = name, origin
    _share_shapes(found, shapes.values())
    return found


def _share_shapes(found: NamedConstants, shapes: Iterable[list[Array]]) -> None:
    """Give the extents of fields of one shape one name."""
    for arrays in shapes:
        others = f" and {len(arrays) - MAX_SHARED} more" if len(arrays) > MAX_SHARED else ""
        note = _shown(f"shape of {', '.join(array.name for array in arrays[:MAX_SHARED])}{others}")
        for axis in range(arrays[0].ndim):
            name = found.names[extent_of(arrays[0], axis).key]
            found.names |= {extent_of(array, axis).key: name for array in arrays}
            found.shapes[name] = note


def _named(kernel: Kernel) -> Iterator[Origin]:
    """Yield the named numbers of all constants, in order of appearance; those of i32 and f32 get the plain names."""
    constants = [s for s in kernel.statements() if s.__class__ is Const]
    origins = [constant.origin for constant in constants if constant.origin is not None]
    origins += [origin for array in kernel.shared for origin in array.extents if origin is not None]
    found = [origin for each in dict.fromkeys(origins) for origin in each.named()]
    return iter(sorted(found, key=lambda origin: origin.type.name not in COMMON))


def _declaration(language: Language, numbers: Sequence[tuple[str, Origin]]) -> str:
    """Return the declaration of numbers of one type."""
    type, template = numbers[0][1].type, language.constant
    if type.name == "i32" and language.integer_constant:
        template = language.integer_constant
    values = [f"{name} = {literal(language, type, origin.number).template}" for name, origin in numbers]
    return template.format(
        type=language.constant_types.get(type.name, language.types[type.name]), values=", ".join(values)
    )


def _note(origin: Origin, name: str) -> str:
    return _shown(origin.note or ("captured" if origin.name == name else f"captured: {origin.name}"))


def _shown(note: str) -> str:
    shown = "".join(c if c.isprintable() and c not in "\\?" else "_" for c in note)  # nothing continues the line
    return shown if len(shown) <= MAX_EXPRESSION else f"{shown[: MAX_EXPRESSION - 3]}..."
