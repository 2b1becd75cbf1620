"""Merges equal functions of the emitted source, and names all: by the Python functions.

One specialization keeps the plain name; the others get what they are specialised on as a suffix: `lerp`, `lerp_vec3`,
`sample_pressure`.
"""

from __future__ import annotations

from ...ir.functions import Function, called, calls
from ...ir.types import Scalar, Struct, Tensor, Type
from ..context.context import Context
from .function_bodies import Built
from .function_calls import serves
from .real_functions import template_texts

VECTORS = {"f32": "", "f64": "d", "f16": "h", "i32": "i", "u32": "u", "u1": "b"}
"""First letter of a vector's name by the type of its elements."""


def name_functions(context: Context) -> None:
    """Drop the functions that nothing calls, and give each other one a unique name."""
    if not (context.kernel.functions or context.functions.built or context.functions.inferred):
        return
    _merge(context)
    bodies = [context.kernel.body, *(f.body for known in context.functions.built.values() for f in known.values())]
    used = set(called(*bodies)) | {f for known in context.functions.built.values() for f in known.values()}
    context.kernel.functions = [function for function in context.kernel.functions if function in used]
    taken: set[str] = set()
    for known in context.functions.built.values():
        for function in known.values():
            suffixes = [suffix for _, suffix in function.template] if len(known) > 1 else []
            _name(function, suffixes, taken)
    for specializations in context.functions.inferred.values():
        alive = [built for built in specializations.values() if built.function in used]
        for built in alive:
            static = {one.parameter.name: one.value for one in built.passed if one.type is None}
            built.function.template = template_texts(context, static)
            _name(built.function, _suffixes(built, alive[0]), taken)


def _merge(context: Context) -> None:
    """Use one function where one built later serves the calls of another, too."""
    merged: dict[Function, Function] = {}
    for known in context.functions.inferred.values():
        for key, built in known.items():
            others = [one for other, one in known.items() if one is not built and serves(one, other, key)]
            if built.function is None or not others:
                continue
            general = others[0].function
            assert general is not None
            if merged.get(general) is not built.function:
                merged[built.function] = general
    if not merged:
        return
    for root in context.kernel.roots():
        for call in calls(root):
            while call.function in merged:
                call.function = merged[call.function]


def _suffixes(built: Built, first: Built) -> list[str]:
    """Return in what a specialization differs from the first one."""
    assert built.function is not None and first.function is not None
    texts, first_texts = dict(built.function.template), dict(first.function.template)
    suffixes: list[str] = []
    for one, other in zip(built.passed, first.passed, strict=True):
        name = one.parameter.name
        if one.type is not None and one.type != other.type:
            suffixes.append(_name_of(one.type))
        elif name in texts and texts[name] != first_texts.get(name):
            suffixes.append(texts[name])
    return suffixes


def _name_of(type: Type) -> str:
    """Return a short name of a type as a part of an identifier."""
    if isinstance(type, Tensor):
        kind, first = ("vec" if len(type.shape) == 1 else "mat"), VECTORS.get(type.element.name, type.element.name)
        sizes = type.shape[:1] if len(set(type.shape)) == 1 else type.shape
        return f"{first}{kind}{'x'.join(map(str, sizes))}"
    if isinstance(type, Struct):
        return type.name or "struct"
    return type.name if isinstance(type, Scalar) else "value"


def _name(function: Function, suffixes: list[str], taken: set[str]) -> None:
    stem = "_".join([function.name, *dict.fromkeys(suffixes)])
    stem = "".join(c if c.isalnum() else "_" for c in stem)
    name, number = stem, 0
    while name in taken:
        number += 1
        name = f"{stem}_{number}"
    taken.add(name)
    function.name = name
