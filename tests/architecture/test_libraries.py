"""The libraries of helper functions: files of C and CUDA C compile alone, and so does each whole library as it is emitted."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import emitted
import pytest

from shadesmith.runtime.devices.cuda import nvrtc
from shadesmith.transpiler.backend.languages.common import helpers, library_source
from shadesmith.transpiler.backend.languages.common.syntax import helpers_source
from shadesmith.transpiler.backend.languages.glsl.tables import EXTENSIONS
from shadesmith.transpiler.backend.languages.registry import LANGUAGES

TEMPLATES = helpers.TEMPLATES
C_FILES = sorted((TEMPLATES / "c" / "lib").glob("*.h"))
CUDA_FILES = sorted((TEMPLATES / "cuda" / "lib").glob("*.cuh"))
SUFFIX = {"vulkan": ".comp", "cuda": ".cu", "c": ".c"}
GLSL_EXTENSIONS = {
    *EXTENSIONS.values(), "GL_EXT_buffer_reference", "GL_EXT_buffer_reference2", "GL_EXT_scalar_block_layout",
    "GL_KHR_shader_subgroup_ballot", "GL_KHR_shader_subgroup_vote", "GL_KHR_shader_subgroup_arithmetic",
    "GL_KHR_shader_subgroup_shuffle", "GL_KHR_shader_subgroup_basic",
}  # fmt: skip
MACROS = library_source.MACRO.findall((TEMPLATES / "c" / "lib" / "dialect.h").read_text())


def needs(suffix: str) -> None:
    tool = emitted.missing_tool(suffix)
    if tool:
        pytest.skip(f"{tool} is not here")


def whole(language: str) -> str:
    return helpers_source(LANGUAGES[language], helpers.library(LANGUAGES[language]))


@pytest.mark.parametrize("path", C_FILES, ids=lambda path: path.name)
def test_each_file_of_c_compiles_alone(path: Path) -> None:
    needs(".c")
    flags = ("-std=gnu11", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function", "-Wno-unknown-pragmas")
    source = f'#include "{path.name}"\n'
    command = ["gcc", *flags, f"-I{path.parent}", "-fsyntax-only", "-x", "c", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr


@pytest.mark.parametrize("path", CUDA_FILES, ids=lambda path: path.name)
def test_each_file_of_cuda_compiles_alone(path: Path) -> None:
    needs(".cu")
    source = f'#include "{path.name}"\n'
    assert nvrtc.compile_cubin(source, "sm_90", options=(f"--include-path={path.parent}",))[0]


@pytest.mark.parametrize("language", SUFFIX)
def test_each_library_compiles_as_it_is_emitted(language: str) -> None:
    needs(SUFFIX[language])
    source = whole(language)
    if language == "vulkan":
        head = "".join(f"#extension {name} : require\n" for name in sorted(GLSL_EXTENSIONS))
        source = f"#version 460\n{head}layout(local_size_x = 64) in;\n{source}\nvoid main() {{}}\n"
    elif language == "c":
        source = f"#include <math.h>\n#include <stdbool.h>\n#include <stdint.h>\n#include <string.h>\n{source}"
        source = '#pragma GCC diagnostic ignored "-Wunused-function"\n' + source
    assert not emitted.diagnostics_of(f"library{SUFFIX[language]}", source)


@pytest.mark.parametrize("language", ["c", "cuda"])
def test_no_macro_of_a_dialect_is_emitted(language: str) -> None:
    assert len(MACROS) > 10
    for name, *_ in MACROS:
        assert not re.search(rf"\b{name}\b", whole(language)), name


def test_the_dialects_define_the_same_macros() -> None:
    cuda = library_source.MACRO.findall((TEMPLATES / "cuda" / "lib" / "dialect.cuh").read_text())
    assert [macro[:2] for macro in cuda] == [macro[:2] for macro in MACROS]


def test_no_file_of_c_and_cuda_holds_a_chunk_of_the_other() -> None:
    """What C and CUDA C write alike, but for the macros, is in `c_family`."""
    dialects = {
        language: {body for _, parameters, body in library_source.MACRO.findall(path.read_text()) if not parameters}
        for language, path in (("c", TEMPLATES / "c/lib/dialect.h"), ("cuda", TEMPLATES / "cuda/lib/dialect.cuh"))
    }
    chunks = {
        language: {re.sub("|".join(map(re.escape, dialects[language])), "", chunk) for chunk in own_chunks(files)}
        for language, files in (("c", C_FILES), ("cuda", CUDA_FILES))
    }
    alike = {chunk for chunk in chunks["c"] & chunks["cuda"] if "{" in chunk}
    assert not alike


def own_chunks(files: list[Path]) -> list[str]:
    return [chunk for path in files for chunk in path.read_text().split("\n\n") if "#include" not in chunk]


def test_macros_expand_with_nested_arguments() -> None:
    macros = {"ADD": (["x", "y"], "add(&x, y)"), "INLINE": (None, "static inline")}
    source = "INLINE int f() { return ADD(a[g(i, j)], ADD(b, 1)) + RADD(c, 2); }"
    expected = "static inline int f() { return add(&a[g(i, j)], add(&b, 1)) + RADD(c, 2); }"
    assert library_source.expand(source, macros) == expected


def test_a_chunk_is_written_for_each_type() -> None:
    chunk = "// types: i32, u64, i8\n// modulo 2^32\nint f_i32(int a) {\n    return (uint32_t)a << 32 - 132;\n}"
    first, second, third = library_source.instances(chunk)
    assert first == chunk.partition("\n")[2]
    assert second == "// modulo 2^64\nuint64_t f_u64(uint64_t a) {\n    return (uint64_t)a << 64 - 132;\n}"
    assert third == "// modulo 2^8\nint8_t f_i8(int8_t a) {\n    return (uint8_t)a << 8 - 132;\n}"


def test_a_chunk_without_types_is_written_once() -> None:
    assert library_source.instances("int f();") == ["int f();"]


@pytest.mark.parametrize("type", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_overflow_is_found_in_cuda_where_gcc_finds_it(type: str, tmp_path: Path) -> None:
    """All pairs of 8 bit numbers, and pairs of numbers at the ends of the ranges of all types."""
    needs(".c")
    operations = ("add", "sub", "mul")
    name = library_source.NAMES[type]
    functions = helpers_source(LANGUAGES["cuda"], [f"{operation}_overflows_{type}" for operation in operations])
    checks = "\n".join(
        f"wrong += {operation}_overflows_{type}(a, b) != __builtin_{operation}_overflow(a, b, &result);"
        for operation in operations
    )
    program = f"""#include <stdbool.h>
#include <stdint.h>
#define __device__ static
{re.sub("typedef .*;", "", functions)}
int main(void) {{
    int wrong = 0;
    for (int i = -300; i <= 300; i++) {{
        for (int j = -300; j <= 300; j++) {{
            for (int shift = 0; shift < 64; shift += 4) {{
                {name} a = ({name})((uint64_t)i << shift), b = ({name})((uint64_t)j << (shift & 31)), result;
                {checks}
                a = ({name})(((uint64_t)1 << shift) + (uint64_t)i);
                {checks}
            }}
        }}
    }}
    return wrong != 0;
}}
"""
    (tmp_path / "check.c").write_text(program)
    built = str(tmp_path / "check")
    flags = ("-O1", "-fwrapv", "-w", "-std=gnu11")
    subprocess.run(["gcc", *flags, str(tmp_path / "check.c"), "-o", built], check=True)
    assert subprocess.run([built], check=False).returncode == 0
