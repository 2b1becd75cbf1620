"""C and C++ programs without Python: both files compile as either language without a warning, and the example runs."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c_api import binding

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

EXAMPLE = Path(__file__).parents[2] / "examples" / "aot"
SOURCE = binding.FOLDER / "shadesmith.c"
LANGUAGES = {
    "gcc -std=c99": ("gcc", "-std=c99"),
    "g++": ("g++", "-x", "c++", "-std=c++11"),
    "g++ -O3": ("g++", "-x", "c++", "-std=c++20", "-O3"),
    "clang": ("clang", "-std=c99"),
    "clang++": ("clang++", "-x", "c++"),
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", LANGUAGES)
def test_both_files_compile_without_a_warning(name, tmp_path):
    tool, *flags = LANGUAGES[name]
    if binding.compiler(tool) is None:
        pytest.skip(f"needs {tool}")
    binding.compile_c(tmp_path / "shadesmith.o", *flags, *binding.STRICT, "-c", str(SOURCE), tool=tool)


def test_the_header_stands_alone(tmp_path):
    for tool, suffix in (("gcc", "c"), ("g++", "cpp")):
        if binding.compiler(tool) is not None:
            (tmp_path / f"alone.{suffix}").write_text(
                '#include "shadesmith.h"\nint main() { return ti_get_version() == 0; }\n'
            )
            binding.compile_c(tmp_path / "alone.o", *binding.STRICT, "-c", str(tmp_path / f"alone.{suffix}"), tool=tool)


def test_only_functions_of_the_header_are_seen(library):
    names = subprocess.run(["nm", "-D", "--defined-only", library._name], capture_output=True, text=True).stdout
    found = {line.split()[-1] for line in names.splitlines()}
    declared = set(re.findall(r"\b(ti_\w+)\(", (binding.FOLDER / "shadesmith.h").read_text()))
    assert {name for name in found if not name.startswith("_")} == declared == set(binding.SIGNATURES)


@pytest.mark.parametrize("tool", ["gcc", "g++"])
def test_the_julia_example_paints_the_image_of_the_jit(target, tool, tmp_path):
    """The archive is made by examples/aot/julia.py in a session of its own, the image by examples/aot/main.c."""
    if target not in binding.ARCHES or binding.compiler(tool) is None:
        pytest.skip(f"needs {tool}, and Vulkan or CUDA")
    flags = ("-std=c99",) if tool == "gcc" else ("-x", "c++")
    program = binding.compile_c(
        tmp_path / "main", *flags, *binding.STRICT, str(EXAMPLE / "main.c"), str(SOURCE), tool=tool
    )
    names: dict[str, object] = {"__name__": "julia"}
    text = (EXAMPLE / "julia.py").read_text().replace("ti.init(arch=ti.cpu)", "")
    text = text.replace("sys.argv[1:] if len(sys.argv) == 3 else", f"({target!r}, {str(tmp_path / 'julia.tcm')!r}) or")
    exec(compile(text, str(EXAMPLE / "julia.py"), "exec"), names)
    command = [program, target, tmp_path / "julia.tcm", tmp_path / "julia.pgm", tmp_path / "floats"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    expected = ti.ndarray(ti.f32, (640, 320))
    names["paint"](expected, 320, 0.5)
    assert (tmp_path / "floats").read_bytes() == expected.to_numpy().tobytes()
    image = (tmp_path / "julia.pgm").read_bytes()
    assert image.startswith(b"P5 640 320 255\n") and len(image) == 15 + 640 * 320
    assert np.frombuffer(image, np.uint8, offset=15).std() > 40


def test_the_program_says_what_is_wrong(tmp_path):
    if binding.compiler("gcc") is None:
        pytest.skip("needs gcc")
    program = binding.compile_c(tmp_path / "main", str(EXAMPLE / "main.c"), str(SOURCE))
    (tmp_path / "x.tcm").write_bytes(b"no archive" * 100)
    for path, text in ((tmp_path / "x.tcm", "this is no archive"), (tmp_path / "y.tcm", "cannot be opened")):
        done = subprocess.run(
            [program, "vulkan", path, tmp_path / "image"], capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 1 and (text in done.stderr or "opening the device" in done.stderr)


def test_the_offsets_of_the_csharp_sample(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "c-api.md").read_text()
    names = {
        "type": "type", "i32": "value.i32", "f32": "value.f32", "memory": "value.ndarray.memory",
        "dimCount": "value.ndarray.shape.dim_count", "dims": "value.ndarray.shape.dims",
        "elementDimCount": "value.ndarray.elem_shape.dim_count", "elementDims": "value.ndarray.elem_shape.dims",
        "elementType": "value.ndarray.elem_type",
    }  # fmt: skip
    fields = re.findall(r"\[FieldOffset\((\d+)\)\] public .*?(\w+)(?:\[16\])?;", text)
    assert {name for _, name in fields} == set(names)
    checks = [f"offsetof(TiArgument, {names[name]}) == {offset}" for offset, name in fields]
    checks += [f"sizeof(TiArgument) == {re.search('Size = ([0-9]+)', text)[1]}", "sizeof(TiMemoryAllocateInfo) == 24"]
    lines = [f"typedef char check_{number}[({check}) ? 1 : -1];" for number, check in enumerate(checks)]
    (tmp_path / "offsets.c").write_text('#include "shadesmith.h"\n' + "\n".join(lines) + "\nint x;\n")
    binding.compile_c(tmp_path / "offsets.o", "-c", str(tmp_path / "offsets.c"))


def test_the_sample_of_the_page_compiles(tmp_path):
    text = (Path(__file__).parents[2] / "docs" / "c-api.md").read_text()
    launches, textures = re.findall(r"```c\n(.*?)```", text, re.S)
    body = launches.replace("...\n", "(void)pixels;\n")
    (tmp_path / "sample.c").write_text(
        '#include "shadesmith.h"\nenum { WIDTH = 64, HEIGHT = 32 };\n'
        f"TiArgument sampled(TiRuntime runtime, TiMemory memory) {{\n{textures}return argument;\n}}\n"
        f"int main(void) {{\n{body}return 0;\n}}\n"
    )
    binding.compile_c(tmp_path / "sample.o", "-c", "-Wall", "-Werror", str(tmp_path / "sample.c"))
