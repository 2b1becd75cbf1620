"""Archives written by hand, without any compiler, for tests of what a loader refuses."""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any

from shadesmith.runtime.aot.container import write_container


def member(name: str, type: str, offset: int, size: int, *source: Any) -> dict[str, Any]:
    return {"name": name, "type": type, "offset_bytes": offset, "size_bytes": size, "source": list(source)}


def array(name: str, parameter: int | None, ndim: int, element: str = "f32") -> dict[str, Any]:
    return {
        "name": name, "element": element, "element_shape": [], "ndim": ndim, "shape": None, "parameter": parameter,
        "read": True, "written": True, "offset": [], "place": None,
    }  # fmt: skip


def ndarray(name: str, ndim: int, element: str = "f32", size: int = 4) -> dict[str, Any]:
    return {
        "name": name, "kind": "ndarray", "element": element, "element_shape": [], "element_size_bytes": size, "ndim": ndim,
        "members": None, "gradient": False,
    }  # fmt: skip


def task(name: str, extents: Any, **other: Any) -> dict[str, Any]:
    made = {
        "name": name, "kind": "range_for", "entry": name, "file": 0, "block_dim": 128, "extents": extents, "reads": [],
        "writes": [], "strided": False, "serial_turns": None, "loop": None, "folded": True, "items": 1,
    }  # fmt: skip
    return made | other


def kernel(name: str, binary: dict[str, Any], **other: Any) -> dict[str, Any]:
    """Return a kernel that takes `x`, an array of f32, and `n`, an i32."""
    interface = {
        "members": [
            member("x_data", "u64", 0, 8, "pointer", 0),
            member("n", "i32", 8, 4, "argument", 1, 0),
            member("x_n0", "i32", 12, 4, "shape", 0, 0),
        ],
        "args_size_bytes": 16, "arrays": [array("x", 0, 1)], "results": [], "result_size_bytes": 0,
        "temporaries_size_bytes": 0, "reports": [],
    }  # fmt: skip
    module = {
        "kernel": name,
        "target": other.pop("target", "cuda"),
        "files": [{"name": f"{name}.cu", "source": f"kernels/{name}/{name}.cu", "binary": binary, "lines": []}],
        "tasks": other.pop("tasks", [task(name, [["member", 2]])]),
        "interface": interface | other.pop("interface", {}),
        "options": other.pop("options", {"fast_math": True, "debug": False}),
    }
    made = {
        "parameters": [ndarray("x", 1), {"name": "n", "kind": "scalar", "type": "i32"}],
        "module": module, "constants": [None] * len(module["interface"]["members"]), "template": None,
        "key": "0123456789abcdef", "edited": None,
    }  # fmt: skip
    return made | other


def cubin(text: str) -> bytes:
    """Return an ELF file with one section, which the libcuda of the tests reads."""
    data = text.encode()
    header = b"\177ELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 190, 1, 0, 0, 64, 0, 64, 56, 0, 64, 1, 0)
    return header + struct.pack("<IIQQQQIIQQ", 0, 1, 0, 0, 128, len(data), 0, 0, 1, 0) + data


def manifest(kernels: dict[str, Any], members: dict[str, bytes], **other: Any) -> dict[str, Any]:
    made: dict[str, Any] = {
        "format": "shadesmith-module", "version": 1, "shadesmith": "0.1.0", "target": "cuda",
        "requires": {"arch": "sm_90", "ptx": None}, "options": {}, "capabilities": {},
        "members": {name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in members.items()},
        "trees": [], "fields": {}, "kernels": kernels, "graphs": {},
    }  # fmt: skip
    return made | other


def pack(description: dict[str, Any], members: dict[str, bytes]) -> bytes:
    text = json.dumps(description, sort_keys=True, indent=1).encode()
    return write_container({**members, "module.json": text})


def cuda_archive(
    functions: str = "paint 16\n", ptx: str | None = None, top: dict[str, Any] | None = None, **other: Any
) -> bytes:
    """Return an archive with the kernel `paint`. functions: what the section of the cubin says; see fake_cuda.c."""
    members = {"kernels/paint/paint.cu": b"// paint\n", "kernels/paint/paint.cubin": cubin(functions)}
    binary = {"cubin": "kernels/paint/paint.cubin", "ptx": None}
    if ptx is not None:
        members["kernels/paint/paint.ptx"] = ptx.encode()
        binary["ptx"] = "kernels/paint/paint.ptx"
    return pack(manifest({"paint": kernel("paint", binary, **other)}, members, **(top or {})), members)
