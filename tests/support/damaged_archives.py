"""Damaged archives of every kind of RELIABILITY R11: (what was done, bytes). The C loader's tests use them too."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import random
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import shadesmith as ti
from shadesmith.runtime.aot.container import write_container

SEED = 11_000_000
BITS, BITS_IN_FULL = 100, 4000
"""Bits that are flipped, one in each archive."""
HARMLESS_BITS = 0.2
"""Share of bits of a zip file that say nothing: versions, times, modes."""
WITHOUT_IDS = frozenset({3, 4, 7, 10, 11, 14, 15, 17})
"""Instructions of SPIR-V whose first operand is no id: sources, strings, extensions, capabilities, entry points."""


@ti.kernel
def paint(pixels: ti.types.ndarray(ti.f32, 2), n: ti.u32, t: ti.f32):
    for i, j in pixels:
        pixels[i, j] = ti.sin(i / n + t) * j


def sample_members() -> dict[str, bytes]:
    """Return the members of a whole archive, for Vulkan, which damage is done to."""
    ti.init(arch=ti.cpu, log_level=ti.WARN)
    module = ti.aot.Module(ti.vulkan, caps="portable")
    module.add_kernel(paint)
    return module.members()


def rebuilt(members: dict[str, bytes], manifest: Any = None) -> bytes:
    """Return an archive of members whose digests in the manifest are right again."""
    manifest = json.loads(members["module.json"]) if manifest is None else manifest
    others = {name: data for name, data in members.items() if name != "module.json"}
    manifest["members"] = {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in others.items()
    }
    return write_container({**others, "module.json": json.dumps(manifest).encode()})


def with_text(members: dict[str, bytes], text: bytes) -> bytes:
    return write_container({**members, "module.json": text})


def zipped(entries: list[tuple[str, bytes]], **options: Any) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **options) as archive:
        for name, data in entries:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # of a name that is there twice, which is the damage
                archive.writestr(name, data)
    return file.getvalue()


def of_containers(members: dict[str, bytes], data: bytes) -> Iterator[tuple[str, bytes]]:
    yield "empty", b""
    yield "no zip", b"hello" * 1000
    yield "only an end", data[-22:]
    for percent in range(100):
        yield f"cut at {percent} %", data[: len(data) * percent // 100]
    for name in (
        "../../x",
        "/etc/x",
        "C:\\x",
        "a\\b",
        "x\0y",
        "a//b",
        "./a",
        "UPPER",
        "a/../b",
        "a/",
        "é",
        "n" * 65000,
    ):
        yield f"member {name[:10]!r}", zipped([*members.items(), (name, b"x")])
    yield "a member twice", zipped([*members.items(), ("module.json", b"{}")])
    yield "no manifest", write_container({name: data for name, data in members.items() if name != "module.json"})
    yield "a member too many", write_container({**members, "kernels/more": b"x"})
    yield "5,000 members", write_container({**members, **{f"m{number}": b"" for number in range(5000)}})
    bomb = zlib.compressobj(9, zlib.DEFLATED, -15)
    packed = bomb.compress(bytes(60 << 20)) + bomb.flush()
    for size in (60 << 20, 100, 1 << 31):
        yield f"a bomb that says {size}", with_packed("bomb", packed, size)
    yield "overlapping members", overlapping(data)
    yield "comment", data[:-2] + struct.pack("<H", 3) + b"abc"
    for name, offset, value in (("disk", -18, 1), ("count", -14, 9), ("count of zip64", -12, 0xFFFF), ("size", -10, 7)):
        yield f"end record: {name}", data[:offset] + struct.pack("<H", value) + data[len(data) + offset + 2 :]
    link = bytearray(data)
    place = link.index(b"PK\1\2")
    struct.pack_into("<I", link, place + 38, 0o120777 << 16)
    yield "a link", bytes(link)
    encrypted = bytearray(data)
    struct.pack_into("<H", encrypted, place + 8, 1)
    yield "encrypted", bytes(encrypted)
    header = bytearray(data)
    struct.pack_into("<I", header, 18, 5)
    yield "local header disagrees", bytes(header)
    crc = bytearray(data)
    struct.pack_into("<I", crc, 14, 5)
    struct.pack_into("<I", crc, place + 16, 5)
    yield "wrong CRC", bytes(crc)


def with_packed(name: str, packed: bytes, size: int) -> bytes:
    """Return a zip file with one deflated member that says it has `size` bytes."""
    facts = (0, len(packed), size & 0xFFFFFFFF, len(name))
    local = struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 8, 0, 33, *facts, 0) + name.encode() + packed
    central = struct.pack("<4sHHHHHHIIIHHHHHII", b"PK\1\2", 788, 20, 0, 8, 0, 33, *facts, 0, 0, 0, 0, 0o100644 << 16, 0)
    central += name.encode()
    return local + central + struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, 1, 1, len(central), len(local), 0)


def overlapping(data: bytes) -> bytes:
    """Let the second member begin where the first does."""
    changed = bytearray(data)
    first = changed.index(b"PK\1\2")
    second = changed.index(b"PK\1\2", first + 4)
    changed[second + 42 : second + 46] = changed[first + 42 : first + 46]
    return bytes(changed)


def of_manifests(members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    own = members["module.json"]
    for what, text in {
        "not JSON": b"kernels", "empty": b"", "a list": b"[]", "a number": b"1", "NaN": b'{"format": NaN}',
        "10^6 deep": b"[" * 10**6, "10^6 deep and closed": b"[" * 10**6 + b"]" * 10**6, "1e999": b'{"version": 1e999}',
        "twice": b'{"format": 1, "format": 2}', "BOM": b"\xef\xbb\xbf" + own, "UTF-16": own.decode().encode("utf-16"),
        "surrogate": own.replace(b'"target"', b'"\\ud800"'), "invalid UTF-8": own.replace(b"target", b"t\xffrget"),
        "huge number": own.replace(b'"version": 1', b'"version": ' + b"9" * 4000), "5 MiB": own + b" " * (5 << 20),
        "many values": b"[" + b"1," * (1 << 20) + b"1]", "strings": b'["' + b'","' * (1 << 18) + b'"]',
        "cut": own[: len(own) // 2], "two": own + own, "NUL": own.replace(b'"target"', b'"tar\\u0000get"'),
    }.items():  # fmt: skip
        yield f"manifest: {what}", with_text(members, text)
    manifest = json.loads(own)
    for what, change in CHANGES.items():
        changed = copy.deepcopy(manifest)
        change(changed)
        yield f"manifest: {what}", write_container({**members, "module.json": json.dumps(changed).encode()})


def kernel(manifest: Any) -> Any:
    return next(iter(manifest["kernels"].values()))


def put(*path: Any) -> Callable[[Any], None]:
    """Return what sets a value in the manifest; the path begins in its first kernel, the value is the last of it."""
    *places, name, value = path

    def change(manifest: Any) -> None:
        part = kernel(manifest)
        for place in places:
            part = part[place]
        part[name] = value

    return change


def top(name: str, value: Any) -> Callable[[Any], None]:
    return lambda manifest: manifest.update({name: value})


CHANGES: dict[str, Callable[[Any], None]] = {
    "version from the future": top("version", 2),
    "version 0": top("version", 0),
    "another format": top("format", "zip"),
    "unknown target": top("target", "metal"),
    "unknown field": top("surprise", 1),
    "no trees": lambda manifest: manifest.pop("trees"),
    "trees negative": top("trees", [{"size_bytes": -1}]),
    "trees 2^63": top("trees", [{"size_bytes": 2**63}]),
    "trees a text": top("trees", "many"),
    "graph of nothing": top("graphs", {"g": {"arguments": [], "dispatches": [{"kernel": "no", "arguments": []}]}}),
    "field outside its tree": top(
        "fields",
        {
            "x": {
                "tree": 0,
                "offset_bytes": 10**6,
                "element": "f32",
                "element_shape": [],
                "element_size_bytes": 4,
                "members": None,
                "shape": [4],
                "strides_bytes": [4],
                "offset": [],
            }
        },
    ),  # fmt: skip
    "requires nothing": top("requires", {}),
    "members empty": top("members", {}),
    "wrong hash": lambda manifest: next(iter(manifest["members"].values())).update(sha256="0" * 64),
    "short hash": lambda manifest: next(iter(manifest["members"].values())).update(sha256="00"),
    "wrong size": lambda manifest: next(iter(manifest["members"].values())).update(size=3),
    "missing shader": lambda manifest: manifest["members"].pop(next(n for n in manifest["members"] if "spv" in n)),
    "block of 0": put("module", "tasks", 0, "block_dim", 0),
    "block of 10^9": put("module", "tasks", 0, "block_dim", 10**9),
    "block of 64": put("module", "tasks", 0, "block_dim", 64),
    "entry": put("module", "tasks", 0, "entry", "other"),
    "file": put("module", "tasks", 0, "file", 7),
    "push of 4,096": put("module", "interface", "args_size_bytes", 4096),
    "push of 2^40": put("module", "interface", "args_size_bytes", 2**40),
    "offset overlaps": put("module", "interface", "members", 1, "offset_bytes", 0),
    "offset negative": put("module", "interface", "members", 1, "offset_bytes", -4),
    "offset moved": put("module", "interface", "members", -1, "offset_bytes", 32),
    "source unknown": put("module", "interface", "members", 0, "source", ["file", 0]),
    "slot beyond": put("module", "interface", "members", 0, "source", ["pointer", 9]),
    "result of 2^62": put("module", "interface", "result_size_bytes", 2**62),
    "constants short": put("constants", []),
    "constant for an argument": put("constants", 0, 5),
    "constant in no tree": put("constants", 0, {"tree": 3, "offset_bytes": 0}),
    "parameters empty": put("parameters", []),
    "parameter of a kind": put("parameters", 0, {"name": "x", "kind": "file", "path": "/etc/passwd"}),
    "extent deep": put("module", "tasks", 0, "extents", [json.loads('["neg",' * 60 + '["const", 1]' + "]" * 60)]),
    "extent unknown": put("module", "tasks", 0, "extents", [["__import__", ["const", 1]]]),
    "another kernel's target": put("module", "target", "cuda"),
    "binary elsewhere": put("module", "files", 0, "binary", {"spirv": "../x.spv"}),
    "binary of another kind": put("module", "files", 0, "binary", {"cubin": "module.json"}),
    "no files": put("module", "files", []),
}


def of_shaders(members: dict[str, bytes]) -> Iterator[tuple[str, bytes]]:
    """Damage SPIR-V, with digests that are right."""
    name = next(name for name in members if name.endswith(".spv"))
    shader = members[name]
    words = list(struct.unpack(f"<{len(shader) // 4}I", shader))

    def spirv(changed: list[int]) -> bytes:
        return rebuilt({**members, name: struct.pack(f"<{len(changed)}I", *changed)})

    yield "shader: text", rebuilt({**members, name: b"#version 460\nvoid main() {}\n  "})
    yield "shader: empty", rebuilt({**members, name: b""})
    for part in range(1, 20):
        yield f"shader: cut at {part}/20", rebuilt({**members, name: shader[: len(shader) // 4 * part // 20 * 4]})
    yield "shader: other version", spirv([words[0], 0x00020000, *words[2:]])
    yield "shader: bound 3", spirv([*words[:3], 3, *words[4:]])
    entry = next(place for place in positions(words) if words[place] & 0xFFFF == 15)
    yield "shader: vertex stage", spirv([*words[: entry + 1], 0, *words[entry + 2 :]])
    yield "shader: another entry name", rebuilt({**members, name: shader.replace(b"main\0", b"mein\0")})
    random_ = random.Random(SEED)
    with_ids = [place for place in positions(words) if words[place] & 0xFFFF not in WITHOUT_IDS]
    for number in range(40):
        changed = list(words)
        changed[random_.choice(with_ids) + 1] ^= 1 << random_.randrange(20, 31)
        yield f"shader: id {number} out of bound", spirv(changed)


def positions(words: list[int]) -> list[int]:
    """Return where instructions of a shader begin that have operands."""
    found, position = [], 5
    while position < len(words):
        if words[position] >> 16 > 1:
            found.append(position)
        position += words[position] >> 16
    return found


def of_bits(data: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    random_ = random.Random(SEED + 1)
    for number in range(count):
        changed = bytearray(data)
        place = random_.randrange(len(data))
        changed[place] ^= 1 << random_.randrange(8)
        yield f"bit {number} at {place}", bytes(changed)


def damaged(members: dict[str, bytes], bits: int = 100) -> Iterator[tuple[str, bytes]]:
    """Yield damaged forms of a module for Vulkan."""
    data = write_container(members)
    yield from of_containers(members, data)
    yield from of_manifests(members)
    yield from of_shaders(members)
    yield from of_bits(data, bits)
