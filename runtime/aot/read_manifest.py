"""Reads the manifest of an archive, which is untrusted input, as described in docs/archive.md.

In: the bytes of `module.json`, and the sizes of the members. Out: `Manifest`, in which every reference leads somewhere
and every number is in its range. An error is an ArchiveError with its path: `$.kernels.paint.constants[2]`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from ...transpiler.backend.module.interface import BackendModule, Member
from ...transpiler.backend.module.read_module import (
    FILE_NAME,
    MAX_BYTES,
    MAX_EXTENT,
    Reader,
    boolean,
    invalid,
    items_of,
    json_list,
    json_type,
    list_of,
    number,
    one_of,
    optional,
    read_module,
    read_object,
    string,
)
from ...transpiler.ir.textures import FORMATS
from ...transpiler.ir.types import SCALARS
from ..devices.target_tools import find_part, part_of, source_tools
from .archive_facts import ArchiveFacts
from .container import MAX_MEMBER_BYTES, NAME, ArchiveError
from .manifest import FORMAT, MANIFEST, MAX_NAME, VERSION

MAX_MANIFEST_BYTES = 4 << 20
MAX_DEPTH = 64
MAX_VALUES = 1 << 18
MAX_KERNELS = 4096
MAX_DIGITS = 30
# limits of the C loader too (`c_api/sections/06_number_types.c`): both accept the same archives
MAX_DIMENSIONS = 16
MAX_BLOCK_DIM = 1024
MAX_ITEMS = 1 << 16
MAX_NUMBERS = 4096
MAX_ELEMENT_BYTES = 1 << 20
MAX_LIST = 4096
MAX_ORDER = 256
TEXT = re.compile(r'"(?:[^"\\]|\\.)*(?:"|\\?\Z)', re.DOTALL)
"""An unterminated one extends to the last character, or else all quotes in it would be tried one by one."""
SHA256 = re.compile(r"[0-9a-f]{64}")
DIGEST = re.compile(r"[0-9a-f]{1,64}")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """Where the source of a file and its binaries are. binaries: member by kind. translations: by language."""

    source: str
    binaries: dict[str, str]
    translations: dict[str, str]


@dataclass(frozen=True, slots=True)
class StoredKernel:
    """A kernel of the manifest. module: without sources, which are members. constants: as there."""

    parameters: tuple[dict[str, Any], ...]
    module: BackendModule
    files: tuple[StoredFile, ...]
    constants: tuple[Any, ...]
    template: dict[str, Any] | None
    key: str
    edited: str | None


@dataclass(frozen=True, slots=True)
class Manifest:
    """The manifest of docs/archive.md. members: (size, SHA-256) by name. trees: sizes [bytes]."""

    shadesmith: str
    target: str
    requires: dict[str, Any]
    options: dict[str, Any]
    capabilities: dict[str, Any]
    members: dict[str, tuple[int, str]]
    trees: tuple[int, ...]
    fields: dict[str, dict[str, Any]]
    kernels: dict[str, StoredKernel]
    graphs: dict[str, dict[str, Any]]


def read_manifest(data: bytes, sizes: Mapping[str, int]) -> Manifest:
    """Return the manifest in `data`. sizes: of all members, as the container says. Raises: ArchiveError."""
    try:
        manifest = _manifest(parse_json(data))
        _check_members(manifest, sizes)
        for name, kernel in manifest.kernels.items():
            _check_kernel(kernel, manifest, f"$.kernels.{name[:80]}")
        for name, graph in manifest.graphs.items():
            _check_graph(graph, manifest, f"$.graphs.{name[:80]}")
        return manifest
    except ValueError as error:
        raise ArchiveError(f"{MANIFEST}: {error}") from None


# --- JSON


def parse_json(data: bytes) -> Any:
    """Return the value of JSON; stricter than Python's parser: no duplicates, no NaN, bounded depth and size.

    Raises: ValueError.
    """
    if len(data) > MAX_MANIFEST_BYTES:
        raise ValueError(f"it has {len(data):,} bytes; at most {MAX_MANIFEST_BYTES:,} are taken")
    try:
        reported = data.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("it is not UTF-8") from None
    if sum(map(data.count, (b",", b"[", b"{"))) > MAX_VALUES:
        raise ValueError(f"it has more than {MAX_VALUES:,} values")
    depth = 0
    for bracket in re.finditer(r"[\[\]{}]", TEXT.sub("", reported)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise ValueError(f"it is nested deeper than {MAX_DEPTH}")
    return json.loads(
        reported, object_pairs_hook=_object, parse_constant=_no_number, parse_int=_integer, parse_float=_float
    )


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("an object has two fields of one name")
    return found


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS or not -(2**63) < int(digits) < 2**63:
        raise ValueError("a number is too long")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not isfinite(value):
        raise ValueError("a number is too large")
    return value


# --- tables


def by_name(read: Reader, limit: int = MAX_KERNELS, name: Reader | None = None) -> Reader:
    """Return a reader of an object whose keys are names."""
    read_name = string(MAX_NAME) if name is None else name

    def read_all(data: Any, path: str) -> dict[str, Any]:
        if type(data) is not dict:
            raise invalid(path, f"an object is expected, found {json_type(data)}")
        if len(data) > limit:
            raise invalid(path, f"{len(data)} entries, and at most {limit} are taken")
        return {read_name(key, path): read(value, f"{path}.{str(key)[:80]}") for key, value in data.items()}

    return read_all


def anything(data: Any, path: str) -> Any:
    """Read data that only people use; strings in it must be printable."""
    if isinstance(data, dict):
        return {label(key, path): anything(value, f"{path}.{key[:80]}") for key, value in data.items()}
    if isinstance(data, list):
        return [anything(item, f"{path}[{place}]") for place, item in enumerate(data)]
    return label(data, path) if isinstance(data, str) else data


def _type(data: Any, path: str) -> Any:
    """Read a Type."""
    if type(data) is str:
        return one_of(*SCALARS)(data, path)
    if type(data) is dict and "struct" in data:
        return read_object(data, path, {"struct": label, "members": struct_members})
    return read_object(data, path, {"shape": tensor_shape, "element": one_of(*SCALARS)})


def _struct_members(data: Any, path: str) -> list[list[Any]]:
    found = []
    for place, item in enumerate(items_of(data, path)):
        where = f"{path}[{place}]"
        if len(items_of(item, where)) != 2:
            raise invalid(where, "a member is its name and its type")
        found.append([read_identifier(item[0], where), _type(item[1], where)])
    if not found or len({name for name, _ in found}) != len(found):
        raise invalid(path, "a struct has members, and each a name of its own")
    return found


def read_identifier(data: Any, path: str) -> str:
    """Read a Python identifier."""
    name: str = label(data, path)
    if not name.isidentifier():
        raise invalid(path, f"{name[:80]!r} is no name of a member")
    return name


label = string(4096)
member = string(200, NAME)
struct_members: Reader = _struct_members
size = number(0, MAX_EXTENT)
bytes_ = number(0, MAX_BYTES)


def tensor_shape(data: Any, path: str) -> list[int]:
    """Read the shape of a vector or matrix."""
    return [*list_of(number(1, 4096), 2, 1)(data, path)]


ELEMENT: dict[str, Reader] = {
    "element": label,
    "element_shape": json_list(number(1, MAX_NUMBERS)),
    "element_size_bytes": number(1, MAX_ELEMENT_BYTES),
    "members": optional(struct_members),
}
PARAMETERS: dict[str, dict[str, Reader]] = {
    "scalar": {"type": one_of(*SCALARS)},
    "matrix": {"type": one_of(*SCALARS), "shape": tensor_shape},
    "struct": {"type": label, "members": struct_members},
    "ndarray": {**ELEMENT, "ndim": number(0, MAX_DIMENSIONS), "gradient": boolean},
    "texture": {"ndim": number(1, 3), "element": one_of("f32", "i32", "u32")},
    "rw_texture": {"ndim": number(1, 3), "format": one_of(*FORMATS), "lod": number(0, 64)},
    "template": {"value": string(1 << 20)},
}


def _parameter(data: Any, path: str) -> dict[str, Any]:
    kind = one_of(*PARAMETERS)(data.get("kind") if type(data) is dict else None, f"{path}.kind")
    found: dict[str, Any] = read_object(data, path, {"name": label, "kind": label, **PARAMETERS[kind]})
    if kind == "ndarray" and found["members"] is None and found["element"] not in SCALARS:
        raise invalid(f"{path}.element", f"{found['element'][:80]!r} is no scalar, and it has no members")
    return found


FIELD: dict[str, Reader] = {
    "tree": size,
    "offset_bytes": bytes_,
    **ELEMENT,
    "shape": json_list(size),
    "strides_bytes": optional(json_list(number(0, MAX_BYTES))),
    "offset": json_list(number(-MAX_EXTENT, MAX_EXTENT)),
}
PLACE: dict[str, Reader] = {"tree": size, "offset_bytes": bytes_}


def _constant(data: Any, path: str) -> Any:
    if data is None:
        return None
    if type(data) is dict:
        return read_object(data, path, PLACE)
    return number(-(2**63), 2**64 - 1)(data, path)


TEMPLATE: dict[str, Reader] = {"of": label, "arguments": by_name(label)}
KERNEL: dict[str, Reader] = {
    "parameters": list_of(_parameter, 4096),
    "module": lambda data, path: data,  # `_kernel` reads it
    "constants": list_of(_constant),
    "template": optional(lambda data, path: read_object(data, path, TEMPLATE)),
    "key": string(64, DIGEST),
    "edited": optional(string(64, DIGEST)),
}


def _kernel(data: Any, path: str) -> StoredKernel:
    found = read_object(data, path, KERNEL)
    module = found["module"]
    if type(module) is not dict or type(module.get("files")) is not list:
        raise invalid(f"{path}.module", "a module has a list of files")
    files: list[StoredFile] = []
    plain_files: list[Any] = []
    for place, file in enumerate(module["files"]):
        where = f"{path}.module.files[{place}]"
        read = read_object(file, where, FILE)
        files.append(StoredFile(read["source"], read["binary"], read["translations"]))
        plain_files.append({"name": read["name"], "text": "", "lines": read["lines"]})
    try:
        found["module"] = read_module({**module, "files": plain_files})
    except ValueError as error:
        raise ValueError(f"{path}.module{str(error)[1:]}") from None
    return StoredKernel(**found, files=tuple(files))


FILE: dict[str, Reader] = {
    "name": string(256, FILE_NAME),
    "source": member,
    "binary": lambda data, path: {k: v for k, v in by_name(optional(member), 4)(data, path).items() if v is not None},
    "translations": by_name(member, 8),
    "lines": lambda data, path: data,  # `read_module` reads them
}


def _value(data: Any, path: str) -> Any:
    """Read an argument of a dispatch: the name of an argument, a number, or several."""
    if type(data) is str:
        return label(data, path)
    if type(data) is list:
        return [_number(item, f"{path}[{place}]") for place, item in enumerate(data)]
    return _number(data, path)


def _number(data: Any, path: str) -> int | float | bool:
    if type(data) not in (int, float, bool):
        raise invalid(path, f"a number is expected, found {json_type(data)}")
    return data  # type: ignore[no-any-return]


DISPATCH: dict[str, Reader] = {"kernel": label, "arguments": list_of(_value, 4096)}
GRAPH: dict[str, Reader] = {
    "arguments": list_of(_parameter, 4096),
    "dispatches": list_of(lambda data, path: read_object(data, path, DISPATCH), 1 << 16),
}
MEMBER: dict[str, Reader] = {"size": number(0, MAX_MEMBER_BYTES), "sha256": string(64, SHA256)}
MANIFEST_TABLE: dict[str, Reader] = {
    "format": one_of(FORMAT),
    "version": number(VERSION, VERSION),
    "shadesmith": string(100),
    "target": one_of(*(tools.name for tools in source_tools() if find_part(tools.name, ArchiveFacts))),
    "requires": lambda data, path: data,  # `_manifest` reads it, which knows the target
    "options": anything,
    "capabilities": anything,
    "members": by_name(
        lambda data, path: tuple(read_object(data, path, MEMBER).values()),
        MAX_KERNELS,
        member,
    ),
    "trees": list_of(lambda data, path: read_object(data, path, {"size_bytes": bytes_})["size_bytes"]),
    "fields": by_name(lambda data, path: read_object(data, path, FIELD)),
    "kernels": by_name(_kernel),
    "graphs": by_name(lambda data, path: read_object(data, path, GRAPH)),
}


def _manifest(data: Any) -> Manifest:
    if type(data) is dict and type(data.get("version")) is int and data["version"] > VERSION:
        raise ValueError(
            f"it is of version {data['version']}; version {VERSION} is read here. Hint: install a newer shadesmith"
        )
    found = read_object(data, "$", MANIFEST_TABLE)
    found["requires"] = read_object(found["requires"], "$.requires", part_of(found["target"], ArchiveFacts).requires)
    for name in ("format", "version"):
        found.pop(name)
    return Manifest(**found)


# --- consistency of the parts


def _check_members(manifest: Manifest, sizes: Mapping[str, int]) -> None:
    """Check that the archive has the members of the manifest, and that the manifest has those that kernels need."""
    for name, (size_bytes, _) in manifest.members.items():
        if name not in sizes:
            raise invalid("$.members", f"`{name}` is not in the archive")
        if sizes[name] != size_bytes:
            raise invalid("$.members", f"`{name}` has another size in the archive")
    if sum(manifest.trees) > MAX_BYTES:
        raise invalid("$.trees", f"they have more than {MAX_BYTES:,} bytes")
    for name in sizes:
        if name != MANIFEST and name not in manifest.members:
            raise invalid("$.members", f"the archive has `{name}`, and the manifest does not name it")
    for name, field in manifest.fields.items():
        _check_field(field, manifest.trees, f"$.fields.{name[:80]}")


def _check_field(field: Mapping[str, Any], trees: Sequence[int], path: str) -> None:
    """Check that all elements of a field are in its tree."""
    if field["tree"] >= len(trees):
        raise invalid(f"{path}.tree", f"there are {len(trees)} trees")
    if field["offset_bytes"] > trees[field["tree"]]:
        raise invalid(f"{path}.offset_bytes", f"its tree has {trees[field['tree']]} bytes")
    if len(field["shape"]) > MAX_DIMENSIONS:
        raise invalid(f"{path}.shape", f"it has more than {MAX_DIMENSIONS} axes")
    strides = field["strides_bytes"]
    if field["offset"] and len(field["offset"]) != len(field["shape"]):
        raise invalid(f"{path}.offset", "it has another number of axes than the shape")
    if field["members"] is None and field["element"] not in SCALARS:
        raise invalid(f"{path}.element", f"{field['element'][:80]!r} is no scalar, and it has no members")
    if strides is None:
        return
    if len(strides) != len(field["shape"]):
        raise invalid(f"{path}.strides_bytes", "it has another number of axes than the shape")
    if 0 in field["shape"]:
        return
    reach = sum((extent - 1) * stride for extent, stride in zip(field["shape"], strides, strict=True))
    if field["offset_bytes"] + reach + field["element_size_bytes"] > trees[field["tree"]]:
        raise invalid(path, f"it is not within its tree of {trees[field['tree']]} bytes")


def _check_kernel(kernel: StoredKernel, manifest: Manifest, path: str) -> None:
    module = kernel.module
    if module.target != manifest.target:
        raise invalid(f"{path}.module.target", f"the archive is for {manifest.target}")
    for place, file in enumerate(kernel.files):
        where = f"{path}.module.files[{place}]"
        kinds = part_of(manifest.target, ArchiveFacts).binaries
        if kinds[0] not in file.binaries or not set(file.binaries) <= set(kinds):
            raise invalid(f"{where}.binary", f"{' and '.join(kinds)} are expected")
        for name in (file.source, *file.binaries.values(), *file.translations.values()):
            if name not in manifest.members:
                raise invalid(where, f"there is no member `{name}`")
    _check_sizes(module, f"{path}.module")
    _check_arrays(kernel, path)
    _check_textures(kernel, path)
    if len(kernel.constants) != len(module.interface.members):
        raise invalid(f"{path}.constants", f"there are {len(module.interface.members)} members")
    for place, (value, member) in enumerate(zip(kernel.constants, module.interface.members, strict=True)):
        _check_constant(value, member, kernel, manifest.trees, f"{path}.constants[{place}]")


def _check_sizes(module: BackendModule, path: str) -> None:
    """Check what every loader limits: the sizes of lists, and of the blocks and results of a launch."""
    interface = module.interface
    for name, items in (("tasks", module.tasks), ("interface.members", interface.members)):
        if len(items) > MAX_LIST:
            raise invalid(f"{path}.{name}", f"there are {len(items)}; at most {MAX_LIST} are taken")
    if interface.result_size_bytes > MAX_ELEMENT_BYTES:
        raise invalid(f"{path}.interface.result_size_bytes", f"at most {MAX_ELEMENT_BYTES} are taken")
    if any(array.ndim > MAX_DIMENSIONS for array in interface.arrays):
        raise invalid(f"{path}.interface.arrays", f"an array has more than {MAX_DIMENSIONS} axes")
    for place, task in enumerate(module.tasks):
        where = f"{path}.tasks[{place}]"
        if task.block_dim > MAX_BLOCK_DIM:
            raise invalid(f"{where}.block_dim", f"{task.block_dim} is not between 1 and {MAX_BLOCK_DIM}")
        if task.items > MAX_ITEMS:
            raise invalid(f"{where}.items", f"{task.items} is not between 1 and {MAX_ITEMS}")
        if task.loop is not None and len(task.loop.order) > MAX_ORDER:
            raise invalid(f"{where}.loop.order", f"at most {MAX_ORDER} components are taken")
        if task.loop is not None and any(not -(2**31) <= step < 2**31 for step in task.loop.steps):
            raise invalid(f"{where}.loop.steps", "a step has 32 bits")


def _check_arrays(kernel: StoredKernel, path: str) -> None:
    for place, array in enumerate(kernel.module.interface.arrays):
        where = f"{path}.module.interface.arrays[{place}]"
        if array.parameter is None:
            continue
        if array.parameter >= len(kernel.parameters):
            raise invalid(f"{where}.parameter", f"there are {len(kernel.parameters)} parameters")
        parameter = kernel.parameters[array.parameter]
        if parameter["kind"] != "ndarray" or parameter["ndim"] != array.ndim:
            raise invalid(where, f"parameter `{parameter['name'][:80]}` is no array of {array.ndim} axes")
        is_same = parameter["members"] is not None or parameter["element"] == array.element
        if not is_same or tuple(parameter["element_shape"]) != array.element_shape:
            raise invalid(where, f"parameter `{parameter['name'][:80]}` has other elements")


def _check_textures(kernel: StoredKernel, path: str) -> None:
    for place, texture in enumerate(kernel.module.interface.textures):
        where = f"{path}.module.interface.textures[{place}]"
        if texture.parameter >= len(kernel.parameters):
            raise invalid(f"{where}.parameter", f"there are {len(kernel.parameters)} parameters")
        parameter = kernel.parameters[texture.parameter]
        declared = parameter["kind"], parameter.get("ndim"), parameter.get("format")
        if declared != ("rw_texture" if texture.storage else "texture", texture.ndim, texture.format):
            raise invalid(where, f"parameter `{parameter['name'][:80]}` is another texture, or none")


def _check_constant(value: Any, member: Member, kernel: StoredKernel, trees: Sequence[int], path: str) -> None:
    """Check that the value of a member suits its source."""
    kind, *details = member.source
    if kind == "argument":
        position, component = details
        if position >= len(kernel.parameters) or component >= numbers_of(kernel.parameters[position]):
            raise invalid(path, "no parameter gives this number")
    is_captured = kind in ("pointer", "gradient", "shape", "capacity", "stride", "begin") and (
        kernel.module.interface.arrays[details[0]].parameter is None
    )
    if is_captured != (value is not None):
        raise invalid(path, "a value is missing" if is_captured else "it is given with each launch")
    if value is None:
        return
    if (kind in ("pointer", "gradient")) != isinstance(value, dict):
        raise invalid(path, "an address is a tree and an offset, and nothing else is")
    if isinstance(value, dict):
        if value["tree"] >= len(trees) or value["offset_bytes"] > trees[value["tree"]]:
            raise invalid(path, "it is not within a tree")
    elif not 0 <= value < 2**31 and kind != "stride":
        raise invalid(path, f"{value} is out of range")


def numbers_of(parameter: Mapping[str, Any]) -> int:
    """Return how many numbers a parameter passed by value has, 0 for others."""
    if parameter["kind"] == "scalar":
        return 1
    if parameter["kind"] == "matrix":
        return _size_of({"shape": parameter["shape"], "element": parameter["type"]})
    return _size_of({"members": parameter["members"]}) if parameter["kind"] == "struct" else 0


def _size_of(type: Any) -> int:
    if isinstance(type, str):
        return 1
    if "members" in type:
        return sum(_size_of(inner) for _, inner in type["members"])
    count = 1
    for extent in type["shape"]:
        count *= extent
    return count


def _check_graph(graph: Mapping[str, Any], manifest: Manifest, path: str) -> None:
    names = {argument["name"] for argument in graph["arguments"]}
    if len(names) != len(graph["arguments"]):
        raise invalid(f"{path}.arguments", "two have one name")
    for place, dispatch in enumerate(graph["dispatches"]):
        where = f"{path}.dispatches[{place}]"
        kernel = manifest.kernels.get(dispatch["kernel"])
        if kernel is None:
            raise invalid(f"{where}.kernel", f"there is no kernel `{dispatch['kernel'][:80]}`")
        passed = [parameter for parameter in kernel.parameters if parameter["kind"] != "template"]
        if len(passed) != len(dispatch["arguments"]):
            raise invalid(f"{where}.arguments", f"the kernel takes {len(passed)}")
        for given in dispatch["arguments"]:
            if isinstance(given, str) and given not in names:
                raise invalid(f"{where}.arguments", f"the graph has no argument `{given[:80]}`")


__all__ = ["Manifest", "StoredFile", "StoredKernel", "numbers_of", "parse_json", "read_manifest"]
