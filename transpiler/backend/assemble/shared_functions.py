"""Functions that are the same but for arrays, or for one type, are one function of the source.

    vec2 sample(u, v)     { return velocity(int(u), int(v)); }
    vec3 sample_dye(u, v) { return dye(int(u), int(v)); }
    ->
    template <typename T> T sample(const T *qf, u, v) { return qf(int(u), int(v)); }

The frontend builds a function for each array and for each type of its arguments, which the passes need. Here those of
one Python function are printed with their arrays as parameters. Equal texts become one function; texts that differ only
in the name of one type become a template, where the language has templates. So an instance of it is, word for word, the
function that was there before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from ...errors import NOWHERE
from ...ir.functions import Call, Function, called
from ...ir.nodes import walk
from ...ir.statements import Array, GlobalPtr
from ...ir.types import Scalar, Type, f32, f64
from ..languages.common.naming import legal
from ..layout.accessors import INDEX_LETTERS, UsedMemory, passed_accessor
from ..layout.signatures import NEEDS_ARGS, Signature
from ..print.expressions import Expressions
from ..print.functions import PrintedFunction
from ..print.lines import wrapped_head
from .context import EmitContext
from .tasks import TaskPrinter

TYPE_NAMES = ("T", "Type", "Element")
"""What the type of a template is called: the first that is free."""
WORD = re.compile(r"(\w+)")


def share_functions(context: EmitContext) -> dict[Function, PrintedFunction]:
    """Return the functions that one stands for, with it as it is printed, and change their signatures to its own."""
    if len(context.kernel.functions) < 2:
        return {}
    groups: dict[object, list[Function]] = {}
    for function in called(*(task.body for task in context.kernel.tasks)):
        groups.setdefault(_origin(function), []).append(function)
    shared: dict[Function, PrintedFunction] = {}
    for group in _callees_first({key: group for key, group in groups.items() if len(group) > 1}):
        shared |= _shared(context, group)
    return shared


def _origin(function: Function) -> object:
    """Return what functions of one Python function have in common, themselves if they cannot be shared."""
    is_known = bool(function.library) or function.location is not NOWHERE
    if not is_known or function.snippets or function in called(function.body):
        return function
    parameters = tuple((p.name, p.by_reference) for p in function.parameters)
    location = function.location
    kinds = function.is_inline, function.is_in_lanes
    return function.library, location.file, location.line, parameters, len(function.results), kinds


def _callees_first(groups: dict[object, list[Function]]) -> list[list[Function]]:
    """Return the groups, each after those that its functions call."""
    ordered: dict[object, list[Function]] = {}
    opened: set[object] = set()

    def visit(key: object) -> None:
        if key in opened:
            return
        opened.add(key)
        for function in called(*(function.body for function in groups[key])):
            if (other := _origin(function)) in groups:
                visit(other)
        ordered[key] = groups[key]

    for key in groups:
        visit(key)
    return list(ordered.values())


def _shared(context: EmitContext, group: list[Function]) -> dict[Function, PrintedFunction]:
    """Return the functions of a group that one stands for. The others keep their signatures, or become overloads."""
    alike: dict[object, list[Function]] = {}
    for function in group:
        signature = context.signatures[function]
        flags = signature.takes_index, signature.takes_random, signature.may_fail
        alike.setdefault((len(_arrays(context, function)), flags), []).append(function)
    found: dict[Function, PrintedFunction] = {}
    for functions in alike.values():
        if len(functions) > 1:
            found |= _one_or_overloads(context, functions)
    return found


def _one_or_overloads(context: EmitContext, functions: list[Function]) -> dict[Function, PrintedFunction]:
    """Return the functions that one stands for: all of these, or all of the same types."""
    old = {function: context.signatures[function] for function in functions}
    new = _new_signatures(context, functions)
    if new is not None:
        context.signatures.update(new)
        if one := _as_one(context, functions):
            return one
        if _are_overloads(context, [same[0] for same in _by_types(context, functions)]):
            context.signatures.update((f, replace(signature, type_argument="")) for f, signature in new.items())
            found: dict[Function, PrintedFunction] = {}
            is_whole = True
            for same in _by_types(context, functions):
                one = _as_one(context, same) if len(same) > 1 else {}
                found |= one
                is_whole &= len(same) == 1 or bool(one)
            if is_whole:
                return found
        context.signatures.update(old)
    found = {}
    for same in _by_types(context, functions):
        one = _one_of(context, same)
        found |= one
        for equal in () if one else _by_texts(context, same):
            found |= _one_of(context, equal)
    return found


def _one_of(context: EmitContext, functions: Sequence[Function]) -> dict[Function, PrintedFunction]:
    """Return the function that stands for all of these, whose signatures become its own; nothing if there is none."""
    old = {function: context.signatures[function] for function in functions}
    if len(functions) < 2 or (new := _new_signatures(context, functions)) is None:
        return {}
    context.signatures.update(new)
    one = _as_one(context, functions)
    if not one:
        context.signatures.update(old)
    return one


def _by_texts(context: EmitContext, functions: Sequence[Function]) -> list[list[Function]]:
    """Return the functions of one name that would be printed alike: what they are specialised on they do not use."""
    old = {function: context.signatures[function] for function in functions}
    name = min((signature.name for signature in old.values()), key=len)
    context.signatures.update((function, replace(signature, name=name)) for function, signature in old.items())
    printer = TaskPrinter(context)
    found: dict[object, list[Function]] = {}
    for function in functions:
        printed = printer.function(function)
        found.setdefault((printed.structure, printed.source), []).append(function)
    context.signatures.update(old)
    return list(found.values())


def _by_types(context: EmitContext, functions: Sequence[Function]) -> list[list[Function]]:
    """Return the functions that have the same types together."""
    found: dict[tuple[str, ...], list[Function]] = {}
    for function in functions:
        found.setdefault(tuple(_types(context, function, _arrays(context, function))), []).append(function)
    return list(found.values())


def _are_overloads(context: EmitContext, functions: Sequence[Function]) -> bool:
    """Return whether the language tells functions of one name apart by a vector, a struct or the pointer to an array,
    whose type no conversion changes. To glslang all buffer references are of one type there.
    """
    if not context.language.has_overloads:
        return False
    heads = []
    for function in functions:
        arrays = context.signatures[function].arrays
        exact = [context.language.has_pointers] * len(arrays)
        exact += [not isinstance(parameter.type, Scalar) for parameter in function.parameters]
        heads.append(list(zip(_types(context, function, arrays), exact, strict=False)))  # without results
    return all(
        any(a[0] != b[0] and (a[1] or b[1]) for a, b in zip(first, second, strict=True))
        for k, first in enumerate(heads)
        for second in heads[:k]
    )


def _arrays(context: EmitContext, function: Function) -> list[Array]:
    """Return the arrays that a function accesses or passes to another, in the order in which it does."""
    found: dict[Array, None] = {}
    for statement in walk(function.body):
        if isinstance(statement, GlobalPtr):
            found[statement.array] = None
        elif isinstance(statement, Call):
            found |= dict.fromkeys(context.signatures[statement.function].arrays)
    return list(found)


def _new_signatures(context: EmitContext, functions: Sequence[Function]) -> dict[Function, Signature] | None:
    """Return the signatures of functions that get the arrays as arguments in which they differ; None if they cannot."""
    columns = list(zip(*(_arrays(context, function) for function in functions), strict=True))
    passed = [column for column in columns if len(set(column)) > 1]
    names = [_name_of(context, functions, column) for column in passed]
    if None in names or len(set(names)) < len(names) or not all(_passable(context, a) for c in passed for a in c):
        return None
    first = min((context.signatures[function] for function in functions), key=lambda signature: len(signature.name))
    own = {function: tuple(column[k] for column in passed) for k, function in enumerate(functions)}
    result = {f: context.signatures[same[0]] for same in _by_types(context, functions) for f in same}
    return {
        function: replace(
            result[function],
            name=first.name,
            takes_args=context.language.has_pointers and _needs_args(context, function, own[function]),
            arrays=own[function],
            array_names=tuple(name for name in names if name),
            type_argument=_type_argument(context, functions, function, own),
        )
        for function in functions
    }


def _name_of(context: EmitContext, functions: Sequence[Function], column: Sequence[Array]) -> str | None:
    """Return the name of the parameter for which Python's callers pass these arrays, None if it cannot be had."""
    of_each = [
        {name for name, value in function.template if value == array.name}
        for function, array in zip(functions, column, strict=True)
    ]
    for name, _ in functions[0].template:
        is_free = name == legal(name) and name not in context.taken and name not in INDEX_LETTERS
        if is_free and all(name in names for names in of_each):
            same = {passed_accessor(array, name, context.layout.memory) for array in column}
            return name if len(same) == 1 else None
    return None


def _passable(context: EmitContext, array: Array) -> bool:
    """Return whether all accesses to an array start from one pointer, which a caller can pass."""
    layout = context.layout
    plain = array in layout.declared and array.place is None and not array.role and not array.is_shared
    accessors = layout.accessors
    others = (accessors.wide, accessors.copies, accessors.flat, accessors.wide_flat, accessors.words)
    return plain and not (array.strided or array.clamped or any(array in names for names in others))


def _needs_args(context: EmitContext, function: Function, passed: Sequence[Array]) -> bool:
    """Return whether a function refers to members of `args` apart from the arrays that it is passed."""
    for statement in walk(function.body):
        if isinstance(statement, Call):
            signature = context.signatures[statement.function]
            if signature.takes_args or any(array not in passed for array in signature.arrays):
                return True
        elif isinstance(statement, GlobalPtr):
            if statement.array not in passed and not statement.array.is_shared:
                return True
        elif isinstance(statement, NEEDS_ARGS):
            return True
    return False


def _types(context: EmitContext, function: Function, arrays: Sequence[Array]) -> list[str]:
    """Return the names of the types in the head of a function."""
    elements = [context.layout.structs.name_of_type(array.element, True) for array in arrays]
    name_of_type = Expressions(context.target, context.layout).name_of_type
    return [*elements, *map(name_of_type, _of_head(function))]


def _of_head(function: Function) -> list[Type]:
    return [*(parameter.type for parameter in function.parameters), *function.results]


def _type_argument(
    context: EmitContext, functions: Sequence[Function], function: Function, own: dict[Function, tuple[Array, ...]]
) -> str:
    """Return what a call of a template states: nothing where the compiler finds the type of an array or of a variable
    by reference, or where no argument is an integer or a half, which C++ computes as another type.
    """
    names = [_types(context, one, own[one]) for one in functions]
    different = [k for k, column in enumerate(zip(*names, strict=True)) if len(set(column)) > 1]
    exact = [True] * len(own[function]) + [parameter.by_reference for parameter in function.parameters]
    heads = [[None] * len(own[one]) + _of_head(one) for one in functions]
    found = [k for k in different if k < len(exact)]
    is_safe = not any(isinstance(head[k], Scalar) and head[k] not in (f32, f64) for head in heads for k in found)
    if not different or any(exact[k] for k in found) or (found and is_safe):
        return ""
    return f"<{names[functions.index(function)][different[0]]}>"


def _as_one(context: EmitContext, functions: Sequence[Function]) -> dict[Function, PrintedFunction]:
    """Return the function that stands for all of these, by function; nothing if they differ in more than a type."""
    printer = TaskPrinter(context)
    printed = [printer.function(function) for function in functions]
    first = printed[0]
    own = {function: context.signatures[function].arrays for function in functions}
    columns = zip(*(_types(context, function, own[function]) for function in functions), strict=True)
    different = list(dict.fromkeys(column for column in columns if len(set(column)) > 1))
    if len(different) > bool(context.language.template) or any(
        other.structure != first.structure or other.comment != first.comment for other in printed
    ):
        return {}
    if different:
        free = [name for name in TYPE_NAMES if name not in context.taken | printer.local_names()]
        texts = [[_unwrapped(p.head), *(line.text for line in p.body)] for p in printed]
        depths = {tuple(line.depth for line in p.body) for p in printed}
        if not free or len(depths) > 1:
            return {}
        lines = [_with_type(same, different[0], free[0]) for same in zip(*texts, strict=True)]
        if None in lines:
            return {}
        head = wrapped_head(f"{context.language.template.format(name=free[0])}{lines[0]}")
        body = [line._replace(text=text or "") for line, text in zip(first.body, lines[1:], strict=True)]
    elif any(other.source != first.source for other in printed):
        return {}
    else:
        head, body = first.head, first.body
    symbols = first.symbols
    for other in printed[1:]:
        symbols.add(other.symbols)
    one = replace(
        first,
        template=first.template if all(other.template == first.template for other in printed) else [],
        head=head,
        body=body,
        used=UsedMemory().with_all([p.used for p in printed]),
        structs=list(dict.fromkeys(struct for p in printed for struct in p.structs)),
        helpers=list(dict.fromkeys(helper for p in printed for helper in p.helpers)),
        symbols=symbols,
        others=frozenset(functions),
    )
    return dict.fromkeys(functions, one)


def _unwrapped(head: str) -> str:
    """Return the head of a function on one line, which may be long."""
    first, *others = head.split("\n")
    return first + " ".join(line.strip() for line in others[:-1]) + "".join(others[-1:])


def _with_type(texts: Sequence[str], names: Sequence[str], type: str) -> str | None:
    """Return the text of which all are instances: it has `type` where they have these names; None if there is none."""
    parts = [WORD.split(text) for text in texts]
    if len({len(words) for words in parts}) > 1:
        return None
    result = []
    for same in zip(*parts, strict=True):
        if len(set(same)) > 1 and same != tuple(names):
            return None
        result.append(same[0] if len(set(same)) == 1 else type)
    return "".join(result)
