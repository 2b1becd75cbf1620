"""`shadesmith cppgen`: the header compiles as C++17 without a warning, and its functions launch kernels."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from c_api import binding

import shadesmith as ti
from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.aot.cppgen.header import cpp_header
from shadesmith.runtime.commands.command_line import main
from shadesmith.transpiler.errors import TaichiRuntimeError

PROGRAM = Path(__file__).parent / "programs" / "generated.cpp"
Body = ti.types.struct(pos=ti.math.vec3, mass=ti.f64, id=ti.i8)
Item = ti.types.struct(count=ti.i32, weight=ti.f32)


@ti.kernel
def paint(pixels: ti.types.ndarray(ti.f32, 2), n: ti.i32, t: ti.f32):
    for i, j in pixels:
        pixels[i, j] = i * n + t * j


@ti.kernel
def dot(
    v: ti.types.ndarray(ti.math.vec3, 1),
    d: ti.math.vec3,
    m: ti.types.matrix(2, 2, ti.f32),
    body: Body,
    h: ti.f16,
    flag: ti.u1,
    long: ti.u64,
) -> ti.f64:
    total = ti.f64(0)
    for i in range(1):
        total += v[0].dot(d) + v[1].dot(d) + m[0, 1] * body.pos[2] + body.mass + body.id + h + flag + long
    return total


@ti.kernel
def grow(items: ti.types.ndarray(Item, 1)):
    for i in items:
        items[i].count += 40
        items[i].weight *= 2


@ti.kernel
def pair(a: ti.i32) -> ti.math.vec2:
    return ti.math.vec2(a, a + 0.5)


@ti.kernel
def two(a: ti.i32) -> (ti.i32, ti.f32):
    return a + 1, a / 2


@pytest.fixture
def path(target: str, tmp_path: Path) -> Path:
    """Return an archive with all of it, and a graph."""
    if target not in binding.ARCHES:
        pytest.skip("the C-API has Vulkan and CUDA")
    builder = ti.graph.GraphBuilder()
    pixels = ti.graph.Arg(ti.graph.ArgKind.NDARRAY, "pixels", ti.f32, ndim=2)
    n, t = (ti.graph.Arg(ti.graph.ArgKind.SCALAR, name, dtype) for name, dtype in (("n", ti.i32), ("t", ti.f32)))
    builder.dispatch(paint, pixels, n, t)
    builder.dispatch(paint, pixels, n, t)
    module = ti.aot.Module(getattr(ti, target))
    for kernel in (paint, dot, grow, pair, two):
        module.add_kernel(kernel)
    module.add_kernel(paint, name="delete")
    module.add_graph("both", builder.compile())
    one = ti.graph.GraphBuilder()
    one.dispatch(paint, pixels, 1, 0.0)
    module.add_graph("class", one.compile())
    module.archive(tmp_path / "sample.tcm")
    return tmp_path / "sample.tcm"


@pytest.mark.exhaustive
def test_the_functions_of_a_header_launch_kernels(target: str, path: Path, tmp_path: Path) -> None:
    if binding.compiler("g++") is None:
        pytest.skip("needs g++")
    assert main(["cppgen", str(path), "-o", str(tmp_path / "sample.hpp")]) == 0
    source = str(binding.FOLDER / "shadesmith.c")
    flags = ("-std=c++17", "-I", str(tmp_path), *binding.STRICT)
    program = binding.compile_c(tmp_path / "main", *flags, str(PROGRAM), "-x", "c++", source, tool="g++")
    done = subprocess.run([program, target, path], capture_output=True, text=True, timeout=300)
    lines = done.stdout.splitlines()
    assert lines[0].split() == [f"{i * 10 + j * 0.5:g}" for i in range(3) for j in range(4)]
    assert float(lines[1]) == 7 + 16 + 2 * 9 + 0.25 - 3 + 1 + 1 + 2**40
    assert lines[2:5] == ["42 3", "5 5.5 8 3.5", "200"]
    assert lines[5].startswith("error: ") and "no such file" in lines[5]


def test_names_are_those_of_python_where_cpp_has_them(path: Path) -> None:
    text = cpp_header(open_archive(path), "a::b")
    assert "void delete_(const shadesmith::Array<float, 2> &pixels" in text and "void class_(" in text
    assert "namespace a::b {" in text and "std::tuple<std::int32_t, float> two(std::int32_t a)" in text
    assert "// paint(pixels: ndarray[f32, 2], n: i32, t: f32)" in text
    with pytest.raises(TaichiRuntimeError, match="cannot name a namespace"):
        cpp_header(open_archive(path), "a b")
