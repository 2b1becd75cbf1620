"""Pass `straight_extremes`: bounds of numbers in loops of C that no compiler makes vectors of."""

from __future__ import annotations

import platform
import subprocess

import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.host.compiler import find_compiler

NOTE = "STRAIGHT void"
Numbers = ti.types.ndarray(ndim=1)
Indices = ti.types.ndarray(dtype=ti.i32, ndim=1)


@ti.kernel
def shades_at(places: Indices, x: Numbers, y: Numbers):
    for i in y:
        y[i] = ti.math.clamp(x[places[i]], 0.0, 1.0) * 255.0 + 0.5


@ti.kernel
def shades(x: Numbers, y: Numbers):
    for i in y:
        y[i] = ti.math.clamp(x[i], 0.0, 1.0) * 255.0 + 0.5


@ti.kernel
def marched(places: Indices, x: Numbers, y: Numbers):
    for i in y:
        t = 0.0
        for _ in range(places[i]):
            t += ti.math.clamp(x[places[i]] + t, 0.0, 1.0)
        y[i] = t


def start(passes: str = "", **options) -> None:
    ti.init(arch=ti.cpu, log_level=ti.ERROR, passes=passes, **options)


def edges(kind: type) -> np.ndarray:
    some = np.random.default_rng(0).normal(0.5, 1, 300)
    return np.concatenate([some, [np.nan, -0.0, 0.0, 1.0, np.inf, -np.inf, 1e-42]]).astype(kind)


@pytest.mark.parametrize("passes", ["", "-straight_extremes"])
@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_shades_at_loaded_places(passes, fast, kind):
    start(passes, fast_math=fast, default_fp=ti.f64 if kind is np.float64 else ti.f32)
    x = edges(kind)
    places = np.random.default_rng(1).permutation(len(x)).astype(np.int32)
    y = np.zeros(len(x), kind)
    shades_at(places, x, y)
    expected = (np.fmin(np.fmax(x, 0), 1) * kind(255) + kind(0.5))[places]
    np.testing.assert_allclose(y, expected, rtol=1e-6 if fast else 0)  # `fast_math` rounds the product and sum once
    assert (NOTE in shades_at.source(places, x, y)) == (not passes)


def test_members_of_structs():
    start()
    particle = ti.types.struct(x=ti.math.vec3, n=ti.math.vec3, colour=ti.u32)
    a = particle.field(shape=307)
    y = ti.field(ti.u32, 307)

    @ti.kernel
    def colours():
        for i in a:
            c = ti.cast(ti.math.clamp(a[i].x, 0, 1) * 255 + 0.5, ti.u32)
            y[i] = c.x | (c.y << 8) | (c.z << 16)

    x = np.stack([np.roll(edges(np.float32), k) for k in range(3)], -1)
    a.x.from_numpy(x)
    colours()
    bytes_ = (np.fmin(np.fmax(x, 0), 1) * np.float32(255) + np.float32(0.5)).astype(np.uint32)
    np.testing.assert_array_equal(y.to_numpy(), bytes_[:, 0] | bytes_[:, 1] << 8 | bytes_[:, 2] << 16)
    assert NOTE in colours.source()


def test_other_loops_stay():
    start()
    places, x = np.zeros(3, np.int32), np.zeros(3, np.float32)
    assert NOTE not in shades.source(x, x)  # gcc makes vectors of it
    assert NOTE not in marched.source(places, x, x)
    assert "STRAIGHT" not in shades_at.source(places, x, x, arch=ti.cuda)


@pytest.mark.parametrize("passes", ["", "-straight_extremes"])
def test_gcc_selects(passes, tmp_path):
    compiler = find_compiler()
    if not compiler.gcc:
        pytest.skip("of gcc")
    start(passes)
    source = tmp_path / "kernel.c"
    source.write_text(shades_at.source(np.zeros(3, np.int32), np.zeros(3, np.float32), np.zeros(3, np.float32)))
    flags = ["-O3", "-w", "-fno-trapping-math", "-fno-signed-zeros", "-fno-tree-vectorize"]
    command = [*compiler.command, *flags, "-S", "-o", "-", str(source)]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")
    selections = [line for line in lines if "maxss" in line or "minss" in line]
    if platform.machine() == "x86_64":
        assert bool(selections) == (not passes)  # of 0, it may be a mask
