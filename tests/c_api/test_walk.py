"""Calls in an order that chance decides, with handles that were freed or are of another kind: errors, never a crash."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import vulkan
from c_api import binding
from c_api.conftest import PROGRAMS, SANITIZERS

import shadesmith as ti

pytestmark = pytest.mark.targets("vulkan", "cuda")  # the C runtime has no other

LAYER = "VK_LAYER_KHRONOS_validation"
STEPS, STEPS_IN_FULL = 2000, 20000


@pytest.fixture
def module(target, archive) -> Path:
    if target != "vulkan" or binding.compiler("gcc") is None:
        pytest.skip("needs gcc, and is about images too, which are on Vulkan")
    total = ti.field(ti.i32, shape=())

    @ti.kernel
    def add(x: ti.types.ndarray(ti.f32, 1), value: ti.f32) -> ti.i32:
        for i in x:
            x[i] += value
        total[None] += 1
        return total[None]

    @ti.kernel
    def warp(source: ti.types.texture(num_dimensions=2), to: ti.types.rw_texture(num_dimensions=2, fmt=ti.Format.r32f)):
        for i, j in to:
            to.store(ti.Vector([i, j]), source.sample_lod(ti.Vector([i, j]) / 4.0, 0.0))

    kind = ti.graph.ArgKind
    builder = ti.graph.GraphBuilder()
    x, value = ti.graph.Arg(kind.NDARRAY, "x", ti.f32, ndim=1), ti.graph.Arg(kind.SCALAR, "value", ti.f32)
    builder.dispatch(add, x, value)
    source = ti.graph.Arg(kind.TEXTURE, "source", ndim=2)
    builder.dispatch(warp, source, ti.graph.Arg(kind.RWTEXTURE, "to", ndim=2, fmt=ti.Format.r32f))
    return archive({"add": add, "warp": warp}, {"total": total}, {"both": builder.compile()})


def walk(program: Path, module: Path, seed: int, threads: int, full: bool, **environment: str) -> None:
    steps = STEPS_IN_FULL if full else STEPS
    done = subprocess.run(
        [program, module, str(seed), str(steps), str(threads)],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0 and not done.stderr, done.stdout[-2000:] + done.stderr[-4000:]
    lines = re.findall(r"^(\d+) calls did something, (\d+) gave an error$", done.stdout, re.M)
    assert len(lines) == threads and not re.findall(r"VUID-[\w-]+|without a text", done.stdout), done.stdout[-4000:]
    assert all(int(number) > steps / 50 for line in lines for number in line)


def compiled(folder: Path, *flags: str) -> Path:
    sources = (str(PROGRAMS / "walk.c"), str(binding.FOLDER / "shadesmith.c"))
    return binding.compile_c(folder / "walk", "-std=c99", *binding.STRICT, *flags, *sources, "-lpthread")


@pytest.mark.exhaustive
def test_calls_by_chance_under_sanitizers(module, tmp_path, full):
    program = compiled(tmp_path, *SANITIZERS)
    for seed, threads in ((1, 1), (2, 1), (3, 4)):
        walk(program, module, seed, threads, full, ASAN_OPTIONS="detect_leaks=0")  # of drivers


def test_calls_by_chance_under_the_validation_layer(module, tmp_path, full):
    if LAYER not in [layer.layerName for layer in vulkan.vkEnumerateInstanceLayerProperties()]:
        pytest.skip(f"needs {LAYER}")
    walk(compiled(tmp_path, "-O1"), module, 4, 1, full, VK_INSTANCE_LAYERS=LAYER)
