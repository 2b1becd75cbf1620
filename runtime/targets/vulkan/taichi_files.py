"""The files of a saved Vulkan module that readers of Taichi's modules look for: `metadata.json`, graphs, shaders.

In: the manifest and the members of a module. Out: more files for its folder: names, types and shapes of kernels, tasks,
fields and graphs as Taichi 1.7.4 writes them, and each shader under the name of its task. The shaders take addresses by
push constants, not Taichi's buffers: so tasks have no `buffer_binds`, and `required_caps` has a capability by which
Taichi's runtime refuses the module before a launch. docs/aot.md says what else differs.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from ...aot.manifest import folders

LEVEL = "1.7.4"
TYPE_NAMES = "f16 f32 f64 i8 i16 i32 i64 u1 u8 u16 u32 u64"
TYPES = {name: number for number, name in enumerate(TYPE_NAMES.split())}  # noqa: SIM905
"""Taichi's numbers of types."""
STRUCT, MANY_THREADS = 13, 131072
"""Its numbers for structs passed by value, and for the threads of a loop whose length is not known."""
SCALAR, NDARRAY, TEXTURE, RW_TEXTURE = range(4)
SERIAL, RANGE_FOR = range(2)
GRAPH_ARGUMENTS = {"scalar": 0, "matrix": 1, "ndarray": 2, "texture": 3, "rw_texture": 4, "struct": 0}
OWN_CONVENTION = "shadesmith_push_constants"
CAPABILITIES = {
    "Int8": "spirv_has_int8",
    "Int16": "spirv_has_int16",
    "Int64": "spirv_has_int64",
    "Float16": "spirv_has_float16",
    "Float64": "spirv_has_float64",
    "Int64Atomics": "spirv_has_atomic_int64",
    "AtomicFloat32AddEXT": "spirv_has_atomic_float_add",
    "AtomicFloat32MinMaxEXT": "spirv_has_atomic_float_minmax",
    "AtomicFloat64AddEXT": "spirv_has_atomic_float64_add",
    "PhysicalStorageBufferAddresses": "spirv_has_physical_storage_buffer",
    "GroupNonUniform": "spirv_has_subgroup_basic",
    "GroupNonUniformVote": "spirv_has_subgroup_vote",
    "GroupNonUniformArithmetic": "spirv_has_subgroup_arithmetic",
    "GroupNonUniformBallot": "spirv_has_subgroup_ballot",
}
"""Taichi's names of what a shader may use."""


def taichi_files(manifest: Mapping[str, Any], members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files by name."""
    stems = folders(list(manifest["kernels"]))
    files = dict(_shaders(manifest, members, stems))
    content = [f"kernel:{name}" for name in manifest["kernels"]] + [f"cgraph:{name}" for name in manifest["graphs"]]
    texts = {
        "metadata.json": _json(_metadata(manifest, stems)),
        "graphs.json": _json([_graph(name, graph, manifest["kernels"]) for name, graph in manifest["graphs"].items()]),
        "__content__": "\n".join(content),
        "__version__": LEVEL,
    }
    return {**files, **{name: text.encode() for name, text in texts.items()}}


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, sort_keys=True) + "\n"


def _metadata(manifest: Mapping[str, Any], stems: Mapping[str, str]) -> dict[str, Any]:
    starts, size = [], 0
    for tree in manifest["trees"]:
        starts.append(size)
        size += tree["size_bytes"]
    major, minor = manifest["requires"]["spirv"]
    used = [CAPABILITIES[name] for name in manifest["requires"]["capabilities"] if name in CAPABILITIES]
    required = {"spirv_version": major << 16 | minor << 8, OWN_CONVENTION: 1, **dict.fromkeys(used, 1)}
    return {
        "fields": [_field(name, field, starts) for name, field in manifest["fields"].items()],
        "kernels": [_kernel(name, kernel, stems[name]) for name, kernel in manifest["kernels"].items()],
        "required_caps": [{"key": name, "value": value} for name, value in sorted(required.items())],
        "root_buffer_size": size,
    }


def _field(name: str, field: Mapping[str, Any], starts: Sequence[int]) -> dict[str, Any]:
    shape = field["element_shape"]
    return {
        "dtype": TYPES.get(field["element"], STRUCT),
        "dtype_name": field["element"],
        "element_shape": shape if len(shape) != 1 else [1, *shape],
        "field_name": name,
        "is_scalar": not shape,
        "mem_offset_in_parent": starts[field["tree"]] + field["offset_bytes"],
        "shape": field["shape"],
    }


def _kernel(name: str, kernel: Mapping[str, Any], stem: str) -> dict[str, Any]:
    module = kernel["module"]
    interface, parameters = module["interface"], _passed(kernel)
    accesses = {array["parameter"]: array["read"] + 2 * array["written"] for array in interface["arrays"]}
    positions = [n for n, each in enumerate(kernel["parameters"]) if each["kind"] != "template"]
    results = [_argument(n, {"kind": "scalar", "name": "", **each}) for n, each in enumerate(interface["results"][:1])]
    return {
        "ctx_attribs": {
            "arg_attribs_vec_": [_argument(n, parameter) for n, parameter in enumerate(parameters)],
            "args_bytes_": interface["args_size_bytes"],
            "arr_access": [{"key": [n], "value": accesses.get(position, 0)} for n, position in enumerate(positions)],
            "ret_attribs_vec_": results,
            "rets_bytes_": interface["result_size_bytes"],
        },
        "is_jit_evaluator": False,
        "name": name,
        "tasks_attribs": [_task(task_name, task) for task_name, task in _tasks(stem, kernel)],
    }


def _passed(kernel: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [parameter for parameter in kernel["parameters"] if parameter["kind"] != "template"]


def _argument(number: int, parameter: Mapping[str, Any]) -> dict[str, Any]:
    kind = parameter["kind"]
    is_array = kind in ("ndarray", "texture", "rw_texture")
    element = parameter.get("element") or parameter.get("type", "f32")
    by_kind = {"ndarray": NDARRAY, "texture": TEXTURE, "rw_texture": RW_TEXTURE}
    return {
        "key": [number],
        "value": {
            "dtype": STRUCT if kind == "struct" else TYPES.get(element, STRUCT),
            "element_shape": parameter.get("element_shape", parameter.get("shape", [])),
            "field_dim": parameter.get("ndim", 0),
            "format": 0,
            "indices": [number],
            "is_argpack": False,
            "is_array": is_array,
            "name": parameter["name"],
            "offset_in_mem": 0,
            "ptype": by_kind.get(kind, SCALAR),
            "stride": 0,
        },
    }


def _tasks(stem: str, kernel: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tasks of a kernel with their names in Taichi's files."""
    for number, task in enumerate(kernel["module"]["tasks"]):
        yield f"{stem}_t{number:02}", task


def _shaders(
    manifest: Mapping[str, Any], members: Mapping[str, bytes], stems: Mapping[str, str]
) -> Iterator[tuple[str, bytes]]:
    for name, kernel in manifest["kernels"].items():
        files = kernel["module"]["files"]
        for task_name, task in _tasks(stems[name], kernel):
            yield f"{task_name}.spv", members[files[task["file"]]["binary"]["spirv"]]


def _task(name: str, task: Mapping[str, Any]) -> dict[str, Any]:
    extents = task["extents"] or []
    lengths = [extent[1] for extent in extents if extent[0] == "const"]
    is_known = len(lengths) == len(extents) and bool(extents)
    length = prod(lengths) if is_known else 0
    is_loop = task["kind"] == "range_for"
    return {
        "advisory_num_threads_per_group": task["block_dim"],
        "advisory_total_num_threads": length if is_known else MANY_THREADS,
        "buffer_binds": [],
        "name": name,
        "range_for_attribs": (
            {"begin": 0, "const_begin": True, "const_end": is_known, "end": length} if is_loop else None
        ),
        "task_type": RANGE_FOR if is_loop else SERIAL,
        "texture_binds": [],
    }


def _graph(name: str, graph: Mapping[str, Any], kernels: Mapping[str, Any]) -> dict[str, Any]:
    dispatches = []
    for dispatch in graph["dispatches"]:
        parameters = _passed(kernels[dispatch["kernel"]])
        arguments = [
            {
                "dtype_id": TYPES.get(parameter.get("element") or parameter.get("type", "f32"), STRUCT),
                "element_shape": parameter.get("element_shape", parameter.get("shape", [])),
                "field_dim": parameter.get("ndim", 0),
                "name": argument if isinstance(argument, str) else parameter["name"],
                "num_channels": 0,
                "tag": GRAPH_ARGUMENTS[parameter["kind"]],
            }
            for argument, parameter in zip(dispatch["arguments"], parameters, strict=True)
        ]
        dispatches.append({"kernel_name": dispatch["kernel"], "symbolic_args": arguments})
    return {"key": name, "value": {"dispatches": dispatches}}
