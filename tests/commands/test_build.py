"""`shadesmith build` and `shadesmith diff` of modules."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from shadesmith.runtime.aot.archive import open_archive
from shadesmith.runtime.commands.command_line import FAILED, NO, YES, main

PROGRAM = """import shadesmith as ti

ti.init(arch=ti.cpu)
x = ti.field(ti.f32, shape=16)


@ti.kernel
def fill(a: ti.types.ndarray(ti.f32, 1), v: ti.f32):
    for i in a:
        a[i] = v + x[i]


@ti.kernel
def needs(a: ti.template(), b: ti.types.ndarray()):
    for i in a:
        a[i] += b[i]


@ti.kernel
def unused(k: ti.template()):
    x[0] = k


if __name__ == "__main__":
    needs(x, ti.ndarray(ti.f32, 16))
"""


@pytest.fixture
def program(tmp_path, monkeypatch) -> Path:
    path = tmp_path / "prog.py"
    path.write_text(PROGRAM)
    monkeypatch.chdir(tmp_path)
    return path


def kernels_of(path):
    return sorted(open_archive(path).kernels)


def test_kernels_are_built_without_arguments_or_with_those_of_a_launch(program, capsys):
    assert main(["build", "prog.py"]) == YES
    assert kernels_of("prog.tcm") == ["fill", "needs"]
    assert "prog.tcm: c, fill, needs" in capsys.readouterr().out


def test_several_targets_get_places_of_their_own(program, capsys):
    targets = ["--target", "vulkan1.1", "--target", "vulkan1.2"]
    assert main(["build", "prog.py:fill", *targets, "-o", "out"]) == YES
    first, second = (open_archive(Path("out", name)).manifest for name in ("vulkan1.1", "vulkan1.2"))
    assert (first.requires["spirv"], second.requires["spirv"]) == ((1, 3), (1, 5))
    capsys.readouterr()
    assert main(["build", "prog.py:fill", *targets, "-o", "a.tcm", "--json"]) == YES
    built = json.loads(capsys.readouterr().out)["modules"]
    assert [module["path"] for module in built] == ["a.vulkan1.1.tcm", "a.vulkan1.2.tcm"]
    assert kernels_of("a.vulkan1.1.tcm") == kernels_of("a.vulkan1.2.tcm") == ["fill"]


def test_exported_kernels_are_built_and_no_others(program, capsys):
    text = PROGRAM.replace("@ti.kernel\ndef fill", "@ti.aot.export\n@ti.kernel\ndef fill").replace(
        "@ti.kernel\ndef unused",
        '@ti.aot.export_as("seven", template_types={"k": 7})\n@ti.aot.export_as("eight", template_types={"k": 8})\n'
        "@ti.kernel\ndef unused",
    )
    program.write_text(text)
    assert main(["build", "prog.py", "--target", "vulkan1.1", "-o", "out"]) == YES
    assert kernels_of("out") == ["eight", "fill", "seven"]
    assert "k = 8;" in Path("out/kernels/eight/unused.comp").read_text()


TYPED = """import shadesmith as ti

ti.init(arch=ti.cpu)
REQUIRED_CAPS = [ti.DeviceCapability.spirv_has_int64]
IMAGE = ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)


@ti.aot.export_as("fill", template_types={"x": ti.types.ndarray(dtype=ti.math.vec3, ndim=2)})
@ti.kernel
def fill_open(x: ti.types.ndarray(), v: ti.f32):
    for i, j in x:
        x[i, j] = v


@ti.aot.export_as("copy", template_types={"t": ti.types.texture(num_dimensions=2), "o": IMAGE})
@ti.kernel
def copy_texels(t: ti.types.texture(num_dimensions=2), o: IMAGE):
    for i, j in o:
        o.store(ti.Vector([i, j]), t.fetch(ti.Vector([i, j]), 0))


@ti.aot.export
@ti.kernel
def wide(x: ti.types.ndarray(dtype=ti.i64, ndim=1)):
    for i in x:
        x[i] = i
"""


def test_types_stand_for_arrays_and_textures_and_the_program_says_capabilities(program, capsys):
    program.write_text(TYPED)
    assert main(["build", "prog.py", "--target", "vulkan"]) == YES
    assert capsys.readouterr().err == ""
    module = open_archive("prog.tcm")
    assert sorted(module.kernels) == ["copy", "fill", "wide"]
    taken = module.kernels["fill"].stored.parameters[0]
    assert (taken["ndim"], taken["element"], taken["element_shape"]) == (2, "f32", [3])
    assert (tuple(module.manifest.requires["spirv"]), "Int64" in module.manifest.requires["capabilities"]) == (
        (1, 3),
        True,
    )
    assert main(["build", "prog.py", "--target", "vulkan", "--caps", "portable"]) == YES
    assert "not built: wide" in capsys.readouterr().err
    assert main(["build", "prog.py", "--target", "c"]) == YES  # not Vulkan: they are nothing to it
    assert kernels_of("prog.tcm") == ["copy", "fill", "wide"]
    program.write_text(TYPED.replace("vec3, ndim=2", "vec3"))
    assert main(["build", "prog.py"]) == YES
    assert "not built: fill: the type given for `x` leaves ndim open" in capsys.readouterr().err


def test_mistakes(program, capsys):
    assert main(["build", "prog.py:unused"]) == FAILED
    assert main(["build", "prog.py", "--target", "metal"]) == FAILED
    assert "is not a target of a module" in capsys.readouterr().err
    assert main(["build", "prog.py", "--target", "vulkan", "--caps", "fly"]) == FAILED
    assert "is not a capability" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("spirv-cross") is None, reason="needs spirv-cross")
def test_shaders_are_translated(program, capsys):
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "--also", "msl", "-o", "m.tcm"]) == YES
    with zipfile.ZipFile("m.tcm") as file:
        assert "kernel void" in file.read("kernels/fill/fill.metal").decode()
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "--also", "hlsl"]) == FAILED
    assert "spirv-cross does not translate fill.comp to hlsl" in capsys.readouterr().err


@pytest.mark.skipif(shutil.which("spirv-cross") is None, reason="needs spirv-cross")
def test_shaders_in_a_folder_are_translated_too(program, capsys):
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "--also", "msl", "-o", "out"]) == YES
    assert "#include <metal_stdlib>" in Path("out/kernels/fill/fill.metal").read_text()


def test_a_tool_that_is_missing_is_named(program, capsys, monkeypatch):
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, *rest: None if name == "spirv-cross" else real(name, *rest))
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "--also", "msl"]) == FAILED
    assert "apt-get install spirv-cross" in capsys.readouterr().err


def test_diff_says_why_modules_differ(program, capsys):
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "-o", "a.tcm"]) == YES
    assert main(["build", "prog.py:fill", "--target", "vulkan1.2", "-o", "b.tcm"]) == YES
    program.write_text(PROGRAM.replace("v + x[i]", "v * x[i]"))
    assert main(["build", "prog.py:fill", "--target", "vulkan1.1", "-o", "c.tcm"]) == YES
    capsys.readouterr()
    assert main(["diff", "a.tcm", "a.tcm"]) == YES
    assert main(["diff", "a.tcm", "b.tcm", "--json"]) == NO
    found = json.loads(capsys.readouterr().out)
    places = {each["place"] for each in found["values"]}
    assert {"requires.spirv", "capabilities.types"} <= places and found["kernels"] == {"fill": ["binary"]}
    assert main(["diff", "a.tcm", "c.tcm"]) == NO
    shown = capsys.readouterr().out
    assert "-    a(i) = args.v + x(i);" in shown and "+    a(i) = args.v * x(i);" in shown
    assert "@@ prog.py:10" in shown
    assert main(["diff", "a.tcm", "prog.py"]) == FAILED
