"""Mistakes in edited GLSL: each is refused before anything runs, at its line, in its own words. No device is needed."""

from __future__ import annotations

import importlib
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from golden_kernels import compiled
from seeded_edits import Seed, changed, diagnostics_of, expect_refusal

import shadesmith as ti
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.workbench.check.check_edit import check_edit
from shadesmith.runtime.workbench.check.edit_error import EditError
from shadesmith.runtime.workbench.edits.edited_module import edited_module

pytestmark = pytest.mark.skipif(shutil.which("glslangValidator") is None, reason="needs glslangValidator")
SWAPPED = (r"(    float w;.*?\n)(    int n;.*?\n)", r"\2\1")
EMPTY_BODY = ((r"float s = a.*?\n", "float s = 0.0;\n"), (r"b\(i, j\) =.*?\n", "\n"))
MISTAKES = (
    Seed("another type", "jacobi", (("float w;", "double w;"),), "double w", "`w` of `Args` has another type: expected `float`, found `double`"),
    Seed("another sign", "jacobi", (("int n; ", "uint n; "), (r"args\.n", "int(args.n)")), "uint n", "`n` of `Args` has another type: expected `int`, found `uint`"),
    Seed("moved", "jacobi", (SWAPPED,), "float w", "`w` of `Args` is at another offset: expected byte 16, found byte 20"),
    Seed("missing", "jacobi", ((r"    int b_n1;.*?\n", ""), (r"args\.b_n1\b", "8")), "uniform Args", "`b_n1` of `Args` is missing"),
    Seed("renamed", "jacobi", (("int b_n1; ", "int stride; "), (r"args\.b_n1", "args.stride")), "int stride", "`b_n1` of `Args` is missing, found `stride` in its place"),
    Seed("renamed, still used", "jacobi", (("int b_n1; ", "int stride; "),), "int stride", "`b_n1` of `Args` is missing, found `stride` in its place"),
    Seed("extra", "jacobi", (("int b_n1; ", "int b_n1, more; "),), "more", "`Args` has a member `more`"),
    Seed("other elements", "jacobi", (("F32 { float v", "F32 { vec2 v"), *EMPTY_BODY), "vec2 v", r"`v` of `F32` has another type: expected `float\[\]`, found `vec2\[\]`"),
    Seed("another reference", "jacobi", (("layout\\(push", "layout(buffer_reference, scalar) buffer U32 { uint v[]; };\nlayout(push"), ("F32 a_data", "U32 a_data"), *EMPTY_BODY), "U32 a_data", "`a_data` of `Args` points to elements of another type: expected `float`, found `uint`"),
    Seed("pointer lost", "jacobi", (("F32 a_data", "uvec2 a_data"), *EMPTY_BODY), "uvec2 a_data", "`a_data` of `Args` has another type: expected `F32`, found `uvec2`"),
    Seed("store to read-only", "jacobi", ((r"b\(i, j\) = a", "a(i, j) = a"),), "a(i, j) = a", "`a` is stored to here, but the kernel in Python only reads it"),
    Seed("atomic on read-only", "jacobi", (("#version 460", "#version 460\n#extension GL_EXT_shader_atomic_float : require"), ("float s = ", "atomicAdd(a(i, j), 1.0); float s = ")), "atomicAdd", "`a` is changed by an atomic operation here"),
    Seed("store by a local pointer", "jacobi", (("float s = ", "F32 p = args.a_data;\n        p.v[3] = 1.0; float s = "),), "p.v[3]", "`a` is stored to here"),
    Seed("store in a function", "jacobi", ((r"// jacobi\.py:6 ", "void set(F32 p) {\n    p.v[1] = 2.0;\n}\n\n//"), ("float s = ", "set(args.a_data); float s = ")), "p.v[1]", "`a` is stored to here"),
    Seed("store of wider elements", "jacobi", (("layout\\(push", "layout(buffer_reference, scalar) buffer Wide { vec4 v[]; };\nlayout(push"), ("float s = ", "Wide(args.a_data).v[i] = vec4(0); float s = ")), "Wide(args.a_data)", "`a` is stored to here"),
    Seed("entry renamed", "jacobi", (("void main", "void start"),), "void start", "the function `main` is missing, found `start`"),
    Seed("local size beside the block", "jacobi", (("local_size_x = BLOCK", "local_size_x = 64"),), "local_size_x = 64", "the local size is 64 x 1 x 1, 64 threads, but the source computes its iterations with `BLOCK` = 128"),
    Seed("local size doubled", "jacobi", (("local_size_x = BLOCK", "local_size_x = BLOCK, local_size_y = 2"),), "local_size_y = 2", "the local size is 128 x 2 x 1, 256 threads, but the source computes its iterations with `BLOCK` = 128"),
    Seed("local size not said", "jacobi", (("#define BLOCK 128\n", ""), (r"layout\(local_size_x = BLOCK\) in;", "layout(local_size_x_id = 0) in;"), ("BLOCK", "1")), "local_size_x_id", "1 threads, but the launcher expects 128"),
    Seed("serial task in many threads", "normalize", (("local_size_x = 1", "local_size_x = 32"),), "local_size_x = 32", "32 threads, but the launcher expects 1"),
    Seed("block too large", "jacobi", (("BLOCK 128", "BLOCK 4096"),), "BLOCK 4096", "a block of 4096 threads is more than the device supports: 1024"),
    Seed("block of none", "jacobi", (("BLOCK 128", "BLOCK 0"), ("local_size_x = BLOCK", "local_size_x = 128")), "BLOCK 0", "`BLOCK` is 0"),
    Seed("block below none", "jacobi", (("BLOCK 128", "BLOCK -1"), ("local_size_x = BLOCK", "local_size_x = 128")), "BLOCK -1", "`BLOCK` is -1"),
    Seed("block unreadable", "jacobi", (("BLOCK 128", "BLOCK gl_WorkGroupSize.x"), ("local_size_x = BLOCK", "local_size_x = 128")), "BLOCK gl_W", "`BLOCK` is not an integer that the launcher can read"),
    Seed("struct moved", "particles", (("vec3 pos, vel;", "vec3 vel, pos;"),), "vec3 vel, pos", "`pos` of `Particle` is at another offset: expected byte 0, found byte 12", 1),
    Seed("struct member retyped", "particles", (("vec3 pos, vel;", "vec3 pos;\n    vec4 vel;"), (r"p\.pos \+= p\.vel \* args\.dt", "p.pos += p.vel.xyz * args.dt")), "vec4 vel", "`vel` of `Particle` has another type: expected `vec3`, found `vec4`", 1),
    Seed("struct member extra", "particles", (("    vec3 pos, vel;\n", "    vec3 pos;\n    float weight;\n    vec3 vel;\n"),), "float weight", "`Particle` has a member `weight`", 1),
    Seed("temporaries retyped", "normalize", (("float total;", "uint total;"), (r"args\.temporaries\.total = 0\.0", "args.temporaries.total = 0u")), "uint total", "`total` of `Temporaries` has another type"),
    Seed("cells of a tree", "blocks", ((r"Cell cells\[12\]", "Cell cells[16]"),), "cells[16]", r"`cells` of `Block` has another type: expected `Cell\[12\]`, found `Cell\[16\]`"),
    Seed("scalar dropped", "particles", (("scalar, buffer_reference_align = 4\\)\n    restrict buffer Particle", "buffer_reference_align = 4) buffer Particle"),), "buffer ParticleBuffer", "`ParticleBuffer` lost its layout `scalar`", 1),
    Seed("scalar of the arguments dropped", "particles", (("push_constant, scalar", "push_constant"),), "uniform Args", "`Args` lost its layout `scalar`", 1),
    Seed("push constant dropped", "jacobi", (("push_constant, scalar", "scalar"),), "uniform Args", "`Args` is no longer a block of push constants"),
    Seed("push constant for a binding", "jacobi", (("push_constant, scalar", "set = 0, binding = 0, scalar"),), "uniform Args", "`Args` is no longer a block of push constants"),
    Seed("descriptor", "jacobi", (("layout\\(push", "layout(set = 0, binding = 3) buffer Extra { float x[]; } extra;\nlayout(push"),), "buffer Extra", r"`extra` needs a descriptor \(set 0, binding 3\)"),
    Seed("image", "jacobi", (("layout\\(push", "layout(binding = 1, rgba8) uniform image2D picture;\nlayout(push"), ("float s = ", "imageStore(picture, ivec2(i, j), vec4(1)); float s = ")), "image2D picture", r"`picture` needs a descriptor \(set 0, binding 1\)"),
    Seed("texture elsewhere", "texture_add", (("binding = 1, rgba8", "binding = 2, rgba8"),), "binding = 2", "`out_ten` is at another binding: expected set 0, binding 1, found set 0, binding 2"),
    Seed("texture removed", "texture_add", ((r"layout\(set = 0, binding = 0[^\n]*\n", ""), (r"imageLoad\(in_ten, i\)", "vec4(1)")), "binding = 1", r"the descriptor `in_ten` \(set 0, binding 0\) is missing"),
    Seed("texture of another format", "texture_add", (("binding = 0, rgba8", "binding = 0, rgba32f"),), "rgba32f", "`in_ten` is of another type: expected `image1D` of format `rgba8`, found `image1D` of format `rgba32f`"),
    Seed("texture of other axes", "texture_add", (("readonly image1D", "readonly image2D"), (r"imageLoad\(in_ten, i\)", "imageLoad(in_ten, ivec2(i, 0))")), "image2D", "expected `image1D` of format `rgba8`, found `image2D`"),
    Seed("texture sampled", "texture_add", ((r"binding = 0, rgba8\) uniform readonly image1D", "binding = 0) uniform sampler1D"), (r"imageLoad\(in_ten, i\)", "texelFetch(in_ten, i, 0)")), "sampler1D", "expected `image1D` of format `rgba8`, found `sampler1D`"),
    Seed("texture of integers", "texture_sample", ((r"rg16ui\) uniform writeonly uimage2D", "rg16i) uniform writeonly iimage2D"), (r"uvec4\(", "ivec4(")), "iimage2D", "expected `uimage2D` of format `rg16ui`, found `iimage2D` of format `rg16i`"),
    Seed("coherent dropped", "fence", (("coherent buffer I32", "buffer I32"),), "buffer I32", "`I32` lost its `coherent`"),
    Seed("shared memory beyond the limit", "tiles", ((r"tile\[64\]", "tile[64000]"),), "tile[64000]", "a block needs 256000 bytes of shared memory, more than the 32768 bytes"),
    Seed("function without body", "jacobi", (("void main", "float smooth_(int i);\n\nvoid main"), ("iteration\\(i, jj", "smooth_(1);\n                iteration(i, jj")), "float smooth_(int i)", "function `smooth_` is declared, but not defined"),
    Seed("clustered subgroups", "jacobi", (("#version 460", "#version 460\n#extension GL_KHR_shader_subgroup_clustered : require"), ("float s = ", "float s = subgroupClusteredAdd(1.0, 4) + ")), "GL_KHR_shader_subgroup_clustered", "the source needs `GroupNonUniformClustered`"),
    Seed("ray queries", "jacobi", (("#version 460", "#version 460\n#extension GL_EXT_ray_query : require"), ("float s = ", "rayQueryEXT q; float s = float(rayQueryGetIntersectionTypeEXT(q, true)) + ")), "GL_EXT_ray_query", "the source needs `RayQueryKHR`"),
)  # fmt: skip


@pytest.mark.parametrize("seed", MISTAKES, ids=lambda seed: seed.name)
def test_each_mistake_is_refused_at_its_line(seed: Seed) -> None:
    expect_refusal("vulkan", seed)


@pytest.mark.parametrize(
    ("changes", "at", "says"),
    [
        ((("float s = ", "float s = q + "),), "q + a", "error: 'q' : undeclared identifier"),
        (
            ((r"(float s = [^;]*);", r"\1"),),
            "b(i, j) = ",
            "error: syntax error, unexpected `identifier`, expecting `,` or `;`",
        ),
        ((("if \\(0 < i", "if ((0 < i"),), "if ((0 < i", r"error: syntax error, unexpected `{`"),
        (((r"\}\n\Z", ""),), "void main", "error: the source ends before all brackets are closed"),
        (((r"\Z", "}\n"),), "}", "error: syntax error, unexpected `}`"),
        ((("float s = ", "\n#line 900\nfloat s = q + "),), "q + a", "error: 'q' : undeclared"),
        ((("float s = ", "int s = "),), "int s = ", "error: '=' :  cannot convert from"),
    ],
)
def test_a_syntax_error_is_shown_on_the_users_file(changes: tuple[tuple[str, str], ...], at: str, says: str) -> None:
    expect_refusal("vulkan", Seed("", "jacobi", changes, at, says))


@pytest.mark.parametrize(
    ("types", "use", "token"),
    [
        ({"i32", "u32", "f32"}, "double d = double(i); float s = float(d) + ", "double"),
        ({"i32", "u32", "f32"}, "int64_t d = int64_t(i); float s = float(d) + ", "int64_t"),
    ],
)
def test_types_that_the_device_lacks_are_refused_where_they_stand(types: set[str], use: str, token: str) -> None:
    small = replace(portable("vulkan"), types=frozenset(types), extra=(("device", "a small GPU"),))
    changes = (
        ("#version 460", "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require"),
        ("float s = ", use),
    )
    text = changed(compiled("jacobi", "vulkan").files[0].text, changes)
    assert diagnostics_of("vulkan", {0: text}, "jacobi") == ""
    said = diagnostics_of("vulkan", {0: text}, "jacobi", small)
    assert "which a small GPU lacks" in said and token in said.split("\n")[1]


def test_a_store_is_allowed_that_the_generated_text_makes_in_another_task() -> None:
    module = compiled("normalize", "vulkan")
    text = module.files[1].text.replace("total += a(i);", "a(i) = 1.0; total += a(i);")
    assert diagnostics_of("vulkan", {1: text}, "normalize") == ""


def test_each_file_is_blamed_for_its_own_mistakes() -> None:
    module = compiled("normalize", "vulkan")
    texts = {k: changed(module.files[k].text, (("int a_n;", "float a_n;"),)) for k in (1, 2)}
    said = diagnostics_of("vulkan", texts, "normalize")
    assert said.count("`a_n` of `Args` has another type") == 2
    assert "edits/normalize_1.comp:" in said and "edits/normalize_2.comp:" in said


MANY = """
import shadesmith as ti
@ti.kernel
def many({parameters}):
    for i in x0:
        x0[i] = {sum}
"""


def test_arguments_behind_a_pointer_are_looked_at_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"x{k}" for k in range(20)]
    parameters = ", ".join(f"{name}: ti.types.ndarray(ti.f32, 1)" for name in names)
    (tmp_path / "many_arguments.py").write_text(
        MANY.format(parameters=parameters, sum=" + ".join(f"{n}[i]" for n in names))
    )
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("many_arguments").many.inspect(arch=ti.vulkan).module
    text = module.files[0].text
    assert "uniform Push" in text

    def said(changes: tuple[tuple[str, str], ...]) -> str:
        edited = edited_module(module, {module.files[0].name: changed(text, changes)})
        try:
            check_edit(module, edited, portable("vulkan"), {})
        except EditError as error:
            return str(error)
        return ""

    assert said(((r"\Z", "// end"),)) == ""
    assert "`x3` is stored to here" in said(((r"(?<=\n    )x0\(i\) =", "x3(i) ="),))
    assert "`x6_data` of `Args` is at another offset: expected byte 48, found byte 56" in said(
        ((r"(    F32 x6_data;[^\n]*\n)(    F32 x7_data;[^\n]*\n)", r"\2\1"),)
    )
    assert "`Args` lost its `readonly`" in said(((r"readonly buffer", "buffer"),))
    assert "points to elements of another type" in said(
        (
            ("F32 x5_data", "I32 x5_data"),
            (
                "layout\\(buffer_reference, scalar, buffer_reference_align = 4\\) buffer F32",
                "layout(buffer_reference, scalar) buffer I32 { int v[]; };\nlayout(buffer_reference, scalar, buffer_reference_align = 4) buffer F32",
            ),
        )
    )
