"""The manifest of a module: what docs/archive.md describes, made of compiled kernels and the fields they use.

In: `Compiled` kernels and named fields. Out: JSON-able data. Trees are numbered by the names of fields and kernels,
never by the order in which they were added or made; paths of files are cut to their names: so equal programs give equal
bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...transpiler.backend.module.interface import BackendModule, Expression
from ...transpiler.backend.module.read_module import MAX_DEPTH
from ...transpiler.errors import TaichiRuntimeError
from ...transpiler.frontend.source.specialization import (
    Argument,
    ArrayArgument,
    ScalarArgument,
    Specialization,
    StructArgument,
    TextureArgument,
)
from ...transpiler.ir.textures import TexelFormat
from ...transpiler.ir.types import Scalar, Struct, Tensor, Type
from ...transpiler.options import Capabilities, CompileOptions, OwnPass, OwnTemplate
from ..arrays.memory import handle_of
from ..arrays.split_memory import SplitMemory
from ..fields.auxiliary_array import AuxiliaryArray
from ..fields.tree_memory import PlacedMemory
from ..launch.arguments.captured import captured_constants
from . import translations
from .archive_facts import Binaries

FORMAT, VERSION = "shadesmith-module", 1
MANIFEST = "module.json"
FOLDER = "kernels"
MAX_NAME = 256
"""Characters of the name of a kernel, field or graph."""
LINE = 120
"""Characters of a line of the manifest, where it can be kept."""
SUFFIXES = {"spirv": ".spv", "cubin": ".cubin", "ptx": ".ptx", "shared_object": ".so"}
OPTIONAL_BINARIES = {"cubin": ("ptx",)}
SITE_FREE = frozenset({"device", "driver"})
"""Facts about a device that change no source: two devices of equal capabilities get the same module."""


@dataclass(frozen=True, slots=True)
class Compiled:
    """One kernel of a module. fields: captured arrays by slot, None for parameters. template: how it is addressed.

    edited: digest of the edited source, if one runs instead of the generated one.
    """

    specialization: Specialization
    module: BackendModule
    fields: tuple[Any, ...]
    binaries: tuple[Binaries, ...]
    template: dict[str, Any] | None = None
    edited: str | None = None


# --- types and parameters


def type_data(type: Type) -> Any:
    """Return a Type for the manifest."""
    if isinstance(type, Struct):
        return {"struct": type.name, "members": members_data(type)}
    if isinstance(type, Tensor):
        return {"shape": list(type.shape), "element": type.element.name}
    return type.name


def members_data(type: Type) -> list[list[Any]] | None:
    """Return the members of a struct with their types, None for other types."""
    return [[name, type_data(member)] for name, member in type.members] if isinstance(type, Struct) else None


def element_data(type: Type) -> dict[str, Any]:
    """Return the element of an array."""
    return {
        "element": type.element.name if isinstance(type, Tensor) else type.name,
        "element_shape": list(type.shape) if isinstance(type, Tensor) else [],
        "element_size_bytes": type.size_bytes,
        "members": members_data(type),
    }


def parameter_data(name: str, argument: Argument, takes_gradient: bool) -> dict[str, Any]:
    """Return one parameter."""
    match argument:
        case ScalarArgument(type=Scalar(name=type)):
            return {"name": name, "kind": "scalar", "type": type}
        case ScalarArgument(type=Tensor(shape=shape, element=element)):
            return {"name": name, "kind": "matrix", "type": element.name, "shape": list(shape)}
        case StructArgument(type=struct):
            return {"name": name, "kind": "struct", "type": struct.name, "members": members_data(struct)}
        case ArrayArgument(element=kind, ndim=ndim):
            return {"name": name, "kind": "ndarray", "ndim": ndim, "gradient": takes_gradient, **element_data(kind)}
        case TextureArgument(ndim=ndim, element=scalar, format=None):
            return {"name": name, "kind": "texture", "ndim": ndim, "element": scalar.name}
        case TextureArgument(ndim=ndim, format=TexelFormat(name=format), lod=lod):
            return {"name": name, "kind": "rw_texture", "ndim": ndim, "format": format, "lod": lod}
    return {"name": name, "kind": "template", "value": str(argument)}


def parameters_data(compiled: Compiled) -> list[dict[str, Any]]:
    """Return the parameters of a kernel, its templates too."""
    interface = compiled.module.interface
    gradients = {
        interface.arrays[member.source[1]].parameter for member in interface.members if member.source[0] == "gradient"
    }
    leaves = compiled.specialization.definition.flat_parameters
    return [
        parameter_data(leaf.name, argument, position in gradients)
        for position, (leaf, argument) in enumerate(zip(leaves, compiled.specialization.arguments, strict=True))
    ]


# --- memory


class Trees:
    """The memory blocks of a module, numbered in order of first use."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._handles: list[Any] = []

    def place(self, handle: Any, address: int) -> dict[str, int]:
        """Return the tree of an address, by number, and the offset in it."""
        number = self._numbers.get(id(handle))
        if number is None:
            number = self._numbers[id(handle)] = len(self._handles)
            self._handles.append(handle)
        return {"tree": number, "offset_bytes": address - handle.allocation.address}

    def data(self) -> list[dict[str, int]]:
        """Return the trees."""
        return [{"size_bytes": handle.size_bytes} for handle in self._handles]


def handle_of_captured(field: Any) -> Any:
    """Return what keeps the memory that a captured field, or an auxiliary array of a sparse tree, is in."""
    return field.memory.handle if isinstance(field, AuxiliaryArray) else handle_of(field)


def check_field(name: str, field: Any) -> None:
    """Check that a field is one array. Raises: TaichiRuntimeError for one that is split into several."""
    if isinstance(field.memory, SplitMemory):
        raise TaichiRuntimeError(
            f"field `{name}` is split into several arrays",
            "add each part: module.add_field(name, field.get_scalar_field(0)), field.get_member_field(...)",
        )


def field_data(field: Any, trees: Trees) -> dict[str, Any]:
    """Return a field, which is one array."""
    place = trees.place(handle_of(field), field.allocation.address)
    strides = _strides(field, place)
    return {
        **place,
        **element_data(field.element),
        "shape": list(field.shape),
        "strides_bytes": strides,
        "offset": list(getattr(field, "offset", ()) or ()),
    }


def _strides(field: Any, place: dict[str, int]) -> list[int] | None:
    """Return the strides of a field with constant strides, and move `place` to its first element."""
    memory = field.memory
    if memory.locate is not None or not hasattr(memory, "view"):
        return None
    whole = memory
    while hasattr(whole, "whole"):
        whole = whole.whole
    view = memory.view
    place["offset_bytes"] += view.ctypes.data - whole.view.ctypes.data
    if isinstance(memory, PlacedMemory):
        return [*memory.view.strides[: len(field.shape)]]
    return [*view.strides[: len(field.shape)]]


# --- kernels


def kernel_data(
    compiled: Compiled, folder: str, trees: Trees, also: Sequence[str] = ()
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """Return a kernel, and its members. also: languages that its shaders are translated to."""
    module = compiled.module
    data = module.to_json()
    members: dict[str, bytes] = {}
    for file, binaries in zip(data["files"], compiled.binaries, strict=True):
        stem = f"{FOLDER}/{folder}/{member_name(file['name'])}"
        members[stem] = file.pop("text").encode()
        file["source"], file["binary"], file["translations"] = stem, {}, {}
        for kind, binary in sorted(binaries.items()):
            member = stem.rpartition(".")[0] + SUFFIXES[kind]
            members[member] = binary
            file["binary"][kind] = member
        for language in also if "spirv" in binaries else ():
            member = stem.rpartition(".")[0] + translations.SUFFIXES.get(language, "")
            members[member] = translations.translate(binaries["spirv"], language, file["name"])
            file["translations"][language] = member
        for kind in (more for known in binaries for more in OPTIONAL_BINARIES.get(known, ())):
            file["binary"].setdefault(kind, None)
        file["lines"] = [[line, _file_name(path), python] for line, path, python in file["lines"]]
    for site in data["interface"]["reports"]:
        site["frames"] = [{**frame, "file": _file_name(frame["file"])} for frame in site["frames"]]
    for task in data["tasks"]:
        if task["serial_turns"] is not None and _depth(task["serial_turns"]) > MAX_DEPTH:
            task["serial_turns"] = None  # it only warns of one driver
        if any(_depth(extent) > MAX_DEPTH for extent in task["extents"] or ()):
            raise TaichiRuntimeError(
                f"the length of a loop of kernel `{module.kernel}` is too long an expression to be archived",
                "compute it in Python and pass it as an argument",
            )
    return {
        "parameters": parameters_data(compiled),
        "module": data,
        "constants": _constants(compiled, trees),
        "template": compiled.template,
        "key": _key(data, members),
        "edited": compiled.edited,
    }, members


def _constants(compiled: Compiled, trees: Trees) -> list[Any]:
    """Return, for each member of `Args`, the value that is known when the module is loaded."""
    interface = compiled.module.interface
    known = captured_constants(interface, compiled.fields, compiled.module.kernel)
    found: list[Any] = []
    for member in interface.members:
        value: Any = known.get(member.source)
        if value is not None and member.source[0] in ("pointer", "gradient"):
            value = trees.place(handle_of_captured(compiled.fields[member.source[1]]), value)
        found.append(value)
    return found


def _key(data: dict[str, Any], members: Mapping[str, bytes]) -> str:
    """Return a digest of a kernel's sources and of its facts for the launcher."""
    material = hashlib.sha256(json_text({k: v for k, v in data.items() if k != "files"}).encode())
    for name, content in sorted(members.items()):
        if not name.endswith(tuple(SUFFIXES.values())):
            material.update(content)
    return material.hexdigest()[:16]


def _depth(expression: Expression | None) -> int:
    if expression is None:
        return 0
    return 1 + max((_depth(operand) for operand in expression[1:] if isinstance(operand, tuple)), default=0)


# --- the whole


def options_data(options: CompileOptions) -> dict[str, Any]:
    """Return the options of the compiler; of a program's own passes and templates their names and digests."""
    return {member.name: _plain(getattr(options, member.name)) for member in fields(options)}


def capabilities_data(capabilities: Capabilities) -> dict[str, Any]:
    """Return the capabilities of the compilation, without names of devices."""
    data = {member.name: _plain(getattr(capabilities, member.name)) for member in fields(capabilities)}
    data["extra"] = [[name, value] for name, value in capabilities.extra if name not in SITE_FREE]
    return data


def _plain(value: Any) -> Any:
    if isinstance(value, OwnPass):
        return {"name": value.name, "after": value.after, "before": value.before, "digest": value.digest}
    if isinstance(value, OwnTemplate):
        return {"name": value.name, "digest": hashlib.sha256(value.text.encode()).hexdigest()}
    if isinstance(value, frozenset):
        return sorted([_plain(item) for item in value])
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def member_table(members: Mapping[str, bytes]) -> dict[str, Any]:
    """Return size and digest of each member."""
    return {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()}


def json_text(data: Any) -> str:
    """Return JSON for people: what fits is on one line. Its bytes depend only on the data."""
    return "".join(_lines(data, "")) + "\n"


def _lines(data: Any, indent: str) -> Iterator[str]:
    line = json.dumps(data, sort_keys=True, allow_nan=False)
    if len(indent) + len(line) <= LINE or not data or not isinstance(data, dict | list):
        yield line
        return
    inner = indent + " "
    if isinstance(data, dict):
        heads = [(f"{json.dumps(name)}: ", data[name]) for name in sorted(data)]
    else:
        heads = [("", item) for item in data]
    yield "{" if isinstance(data, dict) else "["
    for number, (head, item) in enumerate(heads):
        yield f"{',' if number else ''}\n{inner}{head}"
        yield from _lines(item, inner)
    yield f"\n{indent}{'}' if isinstance(data, dict) else ']'}"


def member_name(name: str) -> str:
    """Return a name that may be a part of a member's name."""
    return re.sub(r"[^a-z0-9_.-]+", "_", name.lower()).lstrip(".-") or "kernel"


def folders(names: Sequence[str]) -> dict[str, str]:
    """Return a folder for each kernel: its name as far as it goes, numbered where two would be one."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        folder = stem = member_name(name).strip(".-_")[:80] or "kernel"
        number = 1
        while folder in taken:
            number += 1
            folder = f"{stem}_{number}"
        taken.add(folder)
        found[name] = folder
    return found


def _file_name(path: str) -> str:
    return os.path.basename(path)
