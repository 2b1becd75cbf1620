"""What `spirv.py` reads against what the text says, and what it makes of damaged modules."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from golden_kernels import KERNELS, RECURSIVE, compiled

from shadesmith.runtime.devices.vulkan.spirv import (
    Array,
    Image,
    Matrix,
    Member,
    Pointer,
    Scalar,
    SpirvError,
    Struct,
    Vector,
    reflect,
    size_bytes,
)
from shadesmith.runtime.workbench.check.spirv_stores import SOME, THROUGH, stores

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")
HEAD = """#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 8, local_size_y = 4) in;
layout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32 { float v[]; };
layout(buffer_reference, scalar, buffer_reference_align = 16) buffer F32x4 { vec4 v[]; };
layout(push_constant, scalar) uniform Args { F32 a; F32 b; F32 c; int n; } args;
"""


def spirv(text: str) -> bytes:
    command = ["glslangValidator", "--stdin", "-S", "comp", "--target-env", "vulkan1.2", "--quiet", "-g"]
    done = subprocess.run([*command, "-o", "/dev/stdout"], input=text.encode(), capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")
    return done.stdout


def lines_written(body: str) -> set[tuple[int, str]]:
    """Return which members of `Args` a body writes through, and in which line of it."""
    names, start = "abc", HEAD.count("\n")
    return {(s.line - start, names[s.path[0]]) for s in stores(spirv(HEAD + body)) if s.path[1:2] == (THROUGH,)}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in RECURSIVE])
def test_every_golden_text_shows_its_interface(name: str) -> None:
    module = compiled(name, "vulkan")
    for task in module.tasks:
        found = reflect(spirv(module.files[task.file].text))
        assert [entry.name for entry in found.entries] == ["main"]
        assert found.entries[0].local_size == (task.block_dim, 1, 1)
        textures = {(t.name, 0, t.binding, 2 if t.storage else 1, t.ndim - 1) for t in module.interface.textures}
        assert {(r.name, r.set, r.binding, r.type.use, r.type.dimension) for r in found.resources} == textures
        members = {member.name.partition("[")[0]: member.offset_bytes for member in reversed(module.interface.members)}
        assert found.push_constants is not None and isinstance(found.push_constants.type, Struct)
        assert {m.name: m.offset_bytes for m in found.push_constants.type.members} == members


def test_types_are_read_down_to_the_last_member() -> None:
    text = """#version 460
#extension GL_EXT_scalar_block_layout : require
layout(local_size_x = 2) in;
struct Cell { vec3 at; mat2x3 turn; int kinds[5]; };
layout(set = 1, binding = 3, scalar, row_major) readonly buffer Cells { double first; Cell cells[]; } cells;
layout(set = 0, binding = 2, rgba16f) writeonly uniform image2D picture;
layout(set = 0, binding = 4) uniform sampler2D texture_;
shared vec3 tile[10];
void main() { imageStore(picture, ivec2(0), vec4(cells.cells[1].at, cells.first) + texture(texture_, vec2(0))); tile[0] = vec3(0); }
"""
    found = reflect(spirv(text))
    buffer, picture, sampled = sorted(found.resources, key=lambda r: r.name)
    f32, vec3 = Scalar("float", 32), Vector(Scalar("float", 32), 3)
    readonly = frozenset({"readonly"})
    assert (buffer.set, buffer.binding, buffer.storage) == (1, 3, "StorageBuffer")
    cell = Struct(
        "Cell",
        (
            Member("at", vec3, 0),
            Member("turn", Matrix(vec3, 2), 12, 8, True),
            Member("kinds", Array(Scalar("int", 32), 5, 4), 36),
        ),
    )
    assert buffer.type == Struct(
        "Cells",
        (
            Member("first", Scalar("float", 64), 0, qualifiers=readonly),
            Member("cells", Array(cell, None, 56), 8, qualifiers=readonly),
        ),
    )
    assert (picture.set, picture.binding, picture.type) == (0, 2, Image(f32, 1, False, False, 2, "rgba16f"))
    assert (sampled.binding, sampled.type) == (4, Image(f32, 1, False, False, 1, ""))
    assert found.shared == [("tile", 120)] and "Float64" in found.capabilities


def test_a_buffer_reference_that_points_to_its_like_has_an_end() -> None:
    text = HEAD.replace(
        "layout(push_constant",
        "layout(buffer_reference, scalar) buffer Node;\n"
        "layout(buffer_reference, scalar) buffer Node { Node next; float x; };\nlayout(push_constant",
    ).replace("int n;", "int n; Node head;")
    module = spirv(text + "void main() { Node p = args.head; for (int i = 0; i < args.n; i++) p = p.next; p.x = 1.0; }")
    found = reflect(module)
    assert found.push_constants is not None and isinstance(found.push_constants.type, Struct)
    head = found.push_constants.type.members[4].type
    assert isinstance(head, Pointer)
    node = found.pointees[head.target]
    assert isinstance(node, Struct) and node.members[0].type == head
    assert any(store.path[:2] == (4, THROUGH) for store in stores(module))


@pytest.mark.parametrize(
    ("declared", "size"),
    [
        ("layout(local_size_x = 32) in;", (32, 1, 1)),
        ("layout(local_size_x = 4, local_size_z = 3) in;", (4, 1, 3)),
        ("layout(local_size_x_id = 0, local_size_y = 2) in;", (1, 2, 1)),
        ("layout(local_size_x = 16) in; layout(local_size_x_id = 5) in;", (16, 1, 1)),
    ],
)
def test_the_local_size_is_found_in_every_form(declared: str, size: tuple[int, int, int]) -> None:
    text = f"#version 460\n{declared}\nvoid main() {{ uint x = gl_WorkGroupSize.x; }}\n"
    assert reflect(spirv(text)).entries[0].local_size == size


@pytest.mark.parametrize(
    ("body", "written"),
    [
        ("void main() {\n args.b.v[gl_LocalInvocationIndex] = args.a.v[0];\n}", {(2, "b")}),
        ("void main() {\n F32 p = args.c;\n p.v[3] += 1.0;\n}", {(3, "c")}),
        ("void main() {\n F32x4(args.a).v[0] = vec4(0);\n}", {(2, "a")}),
        ("void main() {\n F32 p = F32(uvec2(args.b));\n p.v[0] = 1.0;\n}", {(3, "b")}),
        ("void main() {\n F32 p = F32(uint64_t(args.b) + 16ul);\n p.v[0] = 1.0;\n}", {(3, "b")}),
        ("void main() {\n F32 p = args.n > 0 ? args.a : args.c;\n p.v[0] = 1.0;\n}", {(3, "a"), (3, "c")}),
        ("void set(F32 p) {\n p.v[0] = 1.0;\n}\nvoid main() { set(args.a); }", {(2, "a")}),
        ("F32 get() { return args.c; }\nvoid main() {\n get().v[0] = 1.0;\n}", {(3, "c")}),
        (
            "void main() {\n F32 p = args.a, q = args.b;\n for (int i = 0; i < 4; i++) {\n  F32 r = p; p = q; q = r;\n }\n"
            " p.v[0] = 1.0;\n}",
            {(6, "a"), (6, "b")},
        ),
        (
            "struct Pair { F32 from; F32 to; };\nvoid main() {\n Pair p = Pair(args.a, args.b);\n"
            " p.to.v[0] = p.from.v[0];\n}",
            {(4, "b")},
        ),
        ("void main() {\n F32 p[2] = F32[2](args.a, args.b);\n p[1].v[0] = p[0].v[0];\n}", {(3, "b")}),
        ("void main() {\n F32 p[2] = F32[2](args.a, args.b);\n p[args.n].v[0] = 1.0;\n}", {(3, "a"), (3, "b")}),
        (
            "struct Pair { F32 from; F32 to; };\nPair turned(Pair p) { return Pair(p.to, p.from); }\nvoid main() {\n"
            " Pair p = turned(Pair(args.a, args.b));\n p.to.v[0] = 1.0;\n}",
            {(5, "a")},
        ),
        ("void main() {\n float x[4]; x[0] = args.a.v[0]; x[args.n] = 1.0;\n}", set()),
        ("void main() {\n float x = args.a.v[args.n]; x += 1.0;\n}", set()),
    ],
)
def test_stores_are_traced_to_the_argument_they_go_to(body: str, written: set[tuple[int, str]]) -> None:
    assert lines_written(body) == written


def test_atomics_are_stores() -> None:
    text = HEAD.replace("float v[]", "uint v[]") + "void main() {\n atomicAdd(args.b.v[args.n], 1u);\n}"
    (store,) = stores(spirv(text))
    assert store.path == (1, THROUGH, 0, SOME) and store.is_atomic


def test_types_without_offsets_take_the_least_room() -> None:
    vec3 = Vector(Scalar("float", 32), 3)
    assert size_bytes(Struct("", (Member("", Scalar("int", 8)), Member("", Array(vec3, 4, None))))) == 49
    assert size_bytes(Struct("", (Member("", Scalar("int", 32), 0), Member("", vec3, 16)))) == 28


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", ["particles", "tiles", "nearest"])
def test_a_damaged_module_gives_a_spirv_error_and_nothing_else(name: str, seed: int) -> None:
    whole = spirv(compiled(name, "vulkan").files[-1].text)
    chance = random.Random(f"{name}{seed}")
    refused = 0
    for _ in range(60):
        damaged = bytearray(whole[: chance.randrange(len(whole))] if chance.random() < 0.1 else whole)
        for _ in range(chance.choice((1, 1, 3, 40))):
            place = chance.randrange(len(damaged)) if damaged else 0
            damaged[place : place + 1] = bytes([chance.choice((0, 1, 0xFF, chance.randrange(256)))])
        if chance.random() < 0.3:  # whole instructions in another order
            cut = chance.randrange(20, max(21, len(damaged))) // 4 * 4
            damaged = damaged[:20] + damaged[cut:] + damaged[20:cut]
        try:
            reflect(bytes(damaged))
            stores(bytes(damaged))
        except SpirvError:
            refused += 1
    assert refused > 10


def words(*instructions: tuple[int, ...]) -> bytes:
    found = [0x07230203, 0x10500, 0, 1000, 0]
    for opcode, *operands in instructions:
        found += [(len(operands) + 1) << 16 | opcode, *operands]
    return b"".join(word.to_bytes(4, "little") for word in found)


@pytest.mark.parametrize(
    "module",
    [
        b"",
        words()[:-1],
        bytes(40),
        words((30, 1, 1)),
        words((22, 1, 32), (30, 2, 1, 2)),
        words((22, 1, 32), (22, 1, 32)),
        words((23, 2, 1, 4)),
        words((17,)),
        words((59, 5, 6, 9)),
        words((15, 5, 4, 0x61616161)),
        words((22, 1, 32), *((30, k, k - 1, k - 1) for k in range(2, 60))),
        words()[:-8] + b"\xff\xff\xff\xff" + bytes(4),
        words() + b"\x11\0\0\0",
    ],
)
def test_what_makes_no_sense_is_refused(module: bytes) -> None:
    with pytest.raises(SpirvError):
        reflect(module)
