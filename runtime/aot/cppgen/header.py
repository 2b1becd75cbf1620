"""The C++ header of an archive: a class with one typed function for each kernel and each graph.

In: an archive that was checked. Out: C++17 that includes `shadesmith.h` and nothing else of ours.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ....transpiler.backend.assemble.render import render
from ....transpiler.backend.module.interface import ResultField
from ....transpiler.errors import TaichiRuntimeError
from ....transpiler.options import VERSION
from ..archive_data import Archive

TYPES = {
    "f16": "shadesmith::Half", "f32": "float", "f64": "double", "u1": "bool",
    **{f"{sign}{bits}": f"std::{'u' if sign == 'u' else ''}int{bits}_t" for sign in "iu" for bits in (8, 16, 32, 64)},
}  # fmt: skip
_WORDS = """
alignas alignof and asm auto bitand bitor bool break case catch char class compl concept const consteval constexpr
constinit continue co_await co_return co_yield decltype default delete do double else enum explicit export extern false
float for friend goto if inline int long mutable namespace new noexcept not nullptr operator or private protected public
register requires return short signed sizeof static struct switch template this throw true try typedef typeid typename
union unsigned using virtual void volatile wchar_t while xor
Module handle field runtime_ module_ arguments kernel graph result std shadesmith
"""
KEYWORDS = frozenset(_WORDS.split())
"""Names that a function or a parameter cannot have."""
COLUMNS = 110
"""Characters of a line."""


class _Names:
    """Names for C++, each once."""

    def __init__(self) -> None:
        self._used: set[str] = set()

    def take(self, name: str) -> str:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII).strip("_") or "unnamed"
        plain = f"_{plain}" if plain[0].isdigit() else plain
        plain = f"{plain}_" if plain in KEYWORDS else plain
        while plain in self._used:
            plain += "_"
        self._used.add(plain)
        return plain


class _Structs:
    """The structs of parameters and elements, declared once each."""

    def __init__(self) -> None:
        self._names = _Names()
        self._found: dict[str, dict[str, Any]] = {}

    def named(self, name: str, members: Sequence[Any], size_bytes: int = 0) -> str:
        """Return the C++ type of a struct of the manifest."""
        listed = _Names()
        declared = [{"name": listed.take(member), "type": self.type_of(kind)} for member, kind in members]
        key = json.dumps([name, declared])
        if key not in self._found:
            self._found[key] = {"name": self._names.take(name), "members": declared, "size_bytes": 0}
        self._found[key]["size_bytes"] = size_bytes or self._found[key]["size_bytes"]
        return str(self._found[key]["name"])

    def type_of(self, kind: Any) -> str:
        """Return the C++ type of a type of the manifest."""
        if isinstance(kind, str):
            return TYPES[kind]
        if "struct" in kind:
            return self.named(kind["struct"], kind["members"])
        return shaped(kind["shape"], TYPES[kind["element"]])

    def all(self) -> list[dict[str, Any]]:
        """Return them, those that others contain first."""
        return list(self._found.values())


def shaped(shape: Sequence[int], element: str) -> str:
    """Return the type of a vector or matrix: `std::array<std::array<float, 2>, 3>` for 3 rows."""
    for extent in reversed(shape):
        element = f"std::array<{element}, {extent}>"
    return element


def cpp_header(archive: Archive, namespace: str) -> str:
    """Return the header of an archive. Raises: TaichiRuntimeError for a namespace that is no name."""
    parts = namespace.split("::")
    if not all(re.fullmatch(r"[A-Za-z_]\w*", part, re.ASCII) and part not in KEYWORDS for part in parts):
        raise TaichiRuntimeError(f"`{namespace}` cannot name a namespace", "use letters, digits and `_`")
    structs, names = _Structs(), _Names()
    functions = [_kernel(name, archive, structs, names) for name in archive.kernels]
    functions += [_graph(name, graph, structs, names) for name, graph in archive.manifest.graphs.items()]
    fields = [
        {"name": names.take(name), "label": json.dumps(name), "comment": f"The location of the field `{name}`."}
        for name in archive.manifest.fields
    ]
    data = {
        "version": VERSION, "source": _inert(archive.title.replace("\\", "/").rpartition("/")[2]),
        "target": archive.manifest.target, "namespace": namespace, "structs": structs.all(), "functions": functions,
        "fields": fields,
    }  # fmt: skip
    return render("cpp/module.hpp.j2", data)


def _kernel(name: str, archive: Archive, structs: _Structs, names: _Names) -> dict[str, Any]:
    kernel = archive.kernels[name]
    given = [parameter for parameter in kernel.stored.parameters if parameter["kind"] != "template"]
    parameters, arguments = _parameters(given, structs)
    types = list(_result_types(kernel.module.interface.results))
    is_one = len(types) == 1
    return {
        "name": names.take(name),
        "label": json.dumps(name),
        "comment": _comment(name, given),
        "returns": "void" if not types else types[0] if is_one else f"std::tuple<{', '.join(types)}>",
        "parameters": parameters,
        "separator": _separator(parameters),
        "arguments": arguments,
        "argument_type": "TiArgument",
        "passed": "arguments" if arguments else "nullptr",
        "is_graph": False,
        "results": ["result"] if is_one else [f"std::get<{number}>(result)" for number in range(len(types))],
    }


def _graph(name: str, graph: Mapping[str, Any], structs: _Structs, names: _Names) -> dict[str, Any]:
    parameters, arguments = _parameters(graph["arguments"], structs)
    labels = [json.dumps(argument["name"]) for argument in graph["arguments"]]
    return {
        "name": names.take(name),
        "label": json.dumps(name),
        "comment": _comment(f"graph {name}", graph["arguments"]),
        "returns": "void",
        "parameters": parameters,
        "separator": _separator(parameters),
        "arguments": [f"{{{label}, {argument}}}" for label, argument in zip(labels, arguments, strict=True)],
        "argument_type": "TiNamedArgument",
        "passed": "arguments" if arguments else "nullptr",
        "is_graph": True,
        "results": [],
    }


def _parameters(given: Sequence[Mapping[str, Any]], structs: _Structs) -> tuple[list[str], list[str]]:
    """Return the parameters of a function, and the arguments that it passes."""
    names = _Names()
    parameters, arguments = [], []
    for one in given:
        name, kind = names.take(one["name"]), one["kind"]
        if kind == "scalar":
            parameters.append(f"{TYPES[one['type']]} {name}")
            arguments.append(f"shadesmith::scalar({name})")
        elif kind in ("texture", "rw_texture"):
            parameters.append(f"const TiTexture &{name}")
            arguments.append(f"shadesmith::texture({name})")
        elif kind == "ndarray":
            parameters.append(f"const shadesmith::Array<{_element(one, structs)}, {one['ndim']}> &{name}")
            arguments.append(f"{name}.argument()")
        else:
            is_struct = kind == "struct"
            made = structs.named(one["type"], one["members"]) if is_struct else shaped(one["shape"], TYPES[one["type"]])
            parameters.append(f"const {made} &{name}")
            arguments.append(f"shadesmith::structure({name})")
    return parameters, arguments


def _element(parameter: Mapping[str, Any], structs: _Structs) -> str:
    """Return the type of the elements of an ndarray."""
    if parameter.get("members"):
        return structs.named(str(parameter["element"]), parameter["members"], parameter["element_size_bytes"])
    return shaped(parameter["element_shape"], TYPES[parameter["element"]])


def _result_types(results: Sequence[ResultField]) -> Iterator[str]:
    for result in results:
        if result.members:
            raise TaichiRuntimeError("a kernel that returns a struct in a struct has no typed function yet")
        yield shaped(result.shape, TYPES[result.type])


def _comment(name: str, parameters: Sequence[Mapping[str, Any]]) -> str:
    shown = ", ".join(f"{one['name']}: {_in_python(one)}" for one in parameters)
    text = _inert(f"{name}({shown})")
    return text if len(text) <= COLUMNS else text[: COLUMNS - 3] + "..."


def _separator(parameters: Sequence[str]) -> str:
    """Return what is between parameters: a line break if they are long."""
    return ", " if sum(map(len, parameters)) < COLUMNS - 40 else ",\n        "


def _in_python(parameter: Mapping[str, Any]) -> str:
    kind = parameter["kind"]
    if kind == "ndarray":
        return f"ndarray[{parameter['element']}, {parameter['ndim']}]"
    return str(parameter.get("type", kind))


def _inert(text: str) -> str:
    """Return a name as part of one line of a comment."""
    return "".join(c if " " <= c <= "~" and c != "\\" else "?" for c in text).replace("??/", "? ?/")
