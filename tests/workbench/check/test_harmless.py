"""Edits that leave the interface alone pass the check: every golden kernel in every language."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from golden_kernels import KERNELS, RECURSIVE, compiled
from seeded_edits import changed, diagnostics_of

import shadesmith as ti
from shadesmith.examples import hand_tuning
from shadesmith.runtime.devices.capabilities import portable
from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.runtime.workbench.check.check_edit import check_edit
from shadesmith.runtime.workbench.edits.edited_module import edited_module
from shadesmith.transpiler.errors import TaichiRuntimeError

CASES = [(k, t) for t in ("c", "cuda", "vulkan") for k in KERNELS if (k, t) not in {(r, "vulkan") for r in RECURSIVE}]
FUNCTION = {
    "c": "static inline float smooth_(float x) {\n    float many[4] = {x};\n    return many[0] * 2.0f;\n}\n",
    "cuda": "template <int n> __device__ float smooth_(float x) {\n    float many[n] = {x};\n    return many[0] * 2.0f;\n}\n",
    "vulkan": "float smooth_(float x) {\n    float many[4];\n    many[0] = x;\n    return many[0] * 2.0;\n}\n",
}
SHARED = {
    "c": "",
    "cuda": "    __shared__ float room_[40];\n    room_[threadIdx.x % 40] = 1.0f;\n",
    "vulkan": "    room_[0] = 1.0;\n",
}


def needs(language: str) -> None:
    tool = {"c": "gcc", "vulkan": "glslangValidator"}.get(language)
    if tool is not None and shutil.which(tool) is None:
        pytest.skip(f"needs {tool}")
    if language == "cuda":
        try:
            nvrtc.load_nvrtc()
        except TaichiRuntimeError as error:
            pytest.skip(str(error))


def without_comments(text: str, language: str) -> str:
    return re.sub(r"//[^\n]*", "", text) + "\n/* what is left */\n"


def formatted_otherwise(text: str, language: str) -> str:
    lines = re.split(r"(?<!\\)\n", text)  # a directive on several lines is one
    return "\n\n".join(
        line if line.lstrip().startswith("#") else line.replace("    ", "\t").replace("{", "{ ").replace(";", " ;")
        for line in lines
    )


def other_block(text: str, language: str) -> str:
    return re.sub(r"(#define BLOCK\w*) \d+", r"\1 (64 * 4)", text)


def more_inside(text: str, language: str) -> str:
    """A helper, a typedef or extension, shared memory, and locals with the names of members."""
    text = text.replace(
        "#version 460\n", "#version 460\n#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require\n"
    )
    entry = {
        "c": r"^(void \w+\(const struct Args \*arguments\) \{\n)",
        "cuda": r'^(extern "C" __global__ [^\n]*\{\n)',
        "vulkan": r"^(void main\(\) \{\n)",
    }[language]
    call = {"cuda": "smooth_<4>(1.0f)", "c": "smooth_(1.0f)", "vulkan": "smooth_(1.0)"}[language]
    body = f"{SHARED[language]}    float unused_ = {call};\n"
    shared = "shared float room_[40];\n" if language == "vulkan" else ""
    function, done = FUNCTION[language], False

    def add(match: re.Match[str]) -> str:
        nonlocal done
        before = "" if done else f"{shared}{function}\n"
        done = True
        return f"{before}{match[1]}{body}"

    return re.sub(entry, add, text, flags=re.MULTILINE)


def qualified(text: str, language: str) -> str:
    """Promises to the compiler, and macros with the names of members behind `Args`."""
    if language == "vulkan":
        text = text.replace("buffer_reference, scalar,", "scalar, buffer_reference,").replace(
            ") buffer F32 ", ") restrict buffer F32 "
        )
    else:
        word = "__restrict__" if language == "cuda" else "restrict"
        head, args, rest = text.partition("struct Args {")
        inside, end, rest = rest.partition("};")
        text = head + args + re.sub(r"\*(\w+;)", rf"*{word} \1", inside) + end + "\n#define first_of(p) (p)[0]" + rest
    return text


def other_names(text: str, language: str) -> str:
    """Types, functions and locals renamed."""
    for old in ("task", "task_0", "task_1", "Particle", "F32", "vec3_dot", "Cell"):
        text = (
            re.sub(rf"\b{old}\b", f"My{old}", text)
            if f"struct {old}" in text or language != "vulkan" or old != "vec3"
            else text
        )
    return re.sub(r"\bs\b(?!\()", "sum_of_four", text)


def line_directives(text: str, language: str) -> str:
    file = "" if language == "vulkan" else ' "paint.py"'
    return re.sub(r"^(    // \w+\.py:(\d+) [^\n]*)$", rf"#line \2{file}\n\1", text, flags=re.MULTILINE)


EDITS: tuple[Callable[[str, str], str], ...] = (
    without_comments, formatted_otherwise, other_block, more_inside, qualified, other_names, line_directives,
)  # fmt: skip


@pytest.mark.sampled(6)
@pytest.mark.parametrize(("kernel", "language"), CASES)
def test_an_untouched_copy_passes(kernel: str, language: str) -> None:
    needs(language)
    module = compiled(kernel, language)
    assert diagnostics_of(language, {k: file.text for k, file in enumerate(module.files)}, kernel) == ""


@pytest.mark.sampled(12)
@pytest.mark.parametrize(("kernel", "language"), CASES)
def test_all_harmless_changes_at_once_pass(kernel: str, language: str) -> None:
    needs(language)
    texts = {}
    for number, file in enumerate(compiled(kernel, language).files):
        text = file.text
        for edit in (
            line_directives,
            more_inside,
            qualified,
            other_names,
            other_block,
            without_comments,
            formatted_otherwise,
        ):
            text = edit(text, language)
        texts[number] = text
    assert diagnostics_of(language, texts, kernel) == ""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("edit", EDITS, ids=lambda edit: edit.__name__)
@pytest.mark.parametrize("kernel", ["jacobi", "particles", "tiles", "blocks"])
@pytest.mark.parametrize("language", ["c", "cuda", "vulkan"])
def test_each_harmless_change_passes_alone(kernel: str, language: str, edit: Callable[[str, str], str]) -> None:
    needs(language)
    files = compiled(kernel, language).files
    assert diagnostics_of(language, {k: edit(file.text, language) for k, file in enumerate(files)}, kernel) == ""


@ti.kernel
def component(points: ti.types.ndarray(ti.math.vec3, 1), i: ti.i32, k: ti.i32) -> ti.f32:
    return points[i][k]


@pytest.mark.parametrize("language", ["c", "cuda", "vulkan"])
def test_a_cast_that_the_generated_text_makes_too_passes(language: str) -> None:
    needs(language)
    arch = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}[language]
    module = component.inspect(arch=arch).module
    texts = {file.name: f"{file.text}\n// changed\n" for file in module.files}
    check_edit(module, edited_module(module, texts), portable(language), {})


@pytest.mark.parametrize(
    ("language", "changes"),
    [
        ("c", (("static inline void task", "inline float twice(float x) { return 2 * x; }\n\nstatic inline void task"), ("float s = ", "float s = twice(1.0f) + "))),
        ("c", (("struct Args {", "typedef float real;\nstruct Args {"), ("float w;", "const real w;"), ("int n; ", "signed n; "))),
        ("c", (("struct Args {", "#include <immintrin.h>\n#include <stdlib.h>\nstruct Args {"), ("float s = ", "__builtin_prefetch(&a(i + 8, j)); float s = fabsf(1.0f) + abs(i) + "), ("struct Args {", "#include <math.h>\nstruct Args {"))),
        ("c", (("const struct Args \\*arguments", "struct Args *restrict arguments"),)),
        ("c", ((r"\Z", "#define w args.w\n#define n 5\n#define Args_ 3\n"),)),
        ("cuda", (("const Args args\\) \\{", "const __grid_constant__ Args args) {"),)),
        ("cuda", (("struct Args {", "using real = float;\nstruct Args {"), ("float w;", "real w;"), ("int n; ", "signed n; "))),
        ("cuda", (("float s = ", "float s = __ldg(&a(i, j)) + ((const float4 *)args.a_data)[0].x + "),)),
        ("cuda", (("__launch_bounds__\\(BLOCK\\)", "__launch_bounds__(BLOCK * 2, 2)"),)),
        ("cuda", (("#define BLOCK 128", "constexpr int WARPS = 4;\nconstexpr int BLOCK = WARPS * 32;"),)),
        ("cuda", ((r"\Z", "#define w args.w\n#define n 5\n"),)),
        ("vulkan", (("#define BLOCK 128", "const uint WIDTH = 16;\n#define BLOCK (WIDTH * 8)"), ("local_size_x = BLOCK", "local_size_x = BLOCK, local_size_y = 1"))),
        ("vulkan", (("layout\\(push", "layout(constant_id = 3) const int MANY = 4;\nshared float room[MANY * 2];\nlayout(push"), ("float s = ", "room[0] = 1.0; float s = "))),
        ("vulkan", (("#version 460", "#version 460\n#extension GL_EXT_buffer_reference_uvec2 : require"), ("layout\\(push", "layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Wide { vec4 v[]; };\nlayout(push"), ("float s = ", "float s = Wide(uvec2(args.a_data)).v[i].x + "))),
        ("vulkan", (("#version 460", "#version 460\n#extension GL_KHR_shader_subgroup_arithmetic : require\n#extension GL_EXT_control_flow_attributes : require"), ("float s = ", "float s = subgroupAdd(1.0) + "))),
        ("vulkan", (("layout\\(buffer", "struct Two { int x; };\nlayout(buffer"), ("push_constant, scalar", "scalar, push_constant"))),
    ],
)  # fmt: skip
def test_what_people_do_passes(language: str, changes: tuple[tuple[str, str], ...]) -> None:
    needs(language)
    text = changed(compiled("jacobi", language).files[0].text, changes)
    assert diagnostics_of(language, {0: text}, "jacobi") == ""


def test_a_kernel_may_ask_the_device_for_the_size_of_its_block() -> None:
    needs("cuda")
    text = compiled("jacobi", "cuda").files[0].text.replace("#define BLOCK 128\n", "").replace("BLOCK", "blockDim.x")
    assert diagnostics_of("cuda", {0: text.replace("__launch_bounds__(blockDim.x) ", "")}, "jacobi") == ""


@pytest.mark.parametrize("language", ["cuda", "vulkan"])
@pytest.mark.parametrize("kernel", ["jacobi", "multiply"])
def test_texts_tuned_by_hand_pass(kernel: str, language: str) -> None:
    needs(language)
    ti.init(arch=ti.cpu, debug=False, log_level=ti.WARN)  # the texts that were tuned have no checks
    arch = {"cuda": ti.cuda, "vulkan": ti.vulkan}[language]
    module = getattr(hand_tuning, kernel).inspect(arch=arch).module
    name = module.files[0].name
    (path,) = Path(hand_tuning.__file__).parent.glob(f"edits/hand_tuning.{kernel}/*/{name}")
    edited = edited_module(module, {name: path.read_text(encoding="utf-8")})
    assert edited.files != module.files
    check_edit(module, edited, portable(language), {name: path})


@pytest.mark.parametrize("language", ["c", "cuda", "vulkan"])
def test_edits_of_kernels_on_sparse_trees_pass(language: str) -> None:
    needs(language)
    ti.init(arch=ti.cpu)
    x = ti.field(ti.f32)
    ti.root.pointer(ti.i, 16).dynamic(ti.j, 32).place(x)

    @ti.kernel
    def grow():
        for i in range(16):
            x[i].append(1.0)

    arch = {"c": ti.cpu, "cuda": ti.cuda, "vulkan": ti.vulkan}[language]
    module = grow.inspect(arch=arch).module
    texts = {file.name: f"{file.text}\n// changed\n" for file in module.files}
    check_edit(module, edited_module(module, texts), portable(language), {})
