"""Pass `root_squares`: NVIDIA's Vulkan driver would take the number under a root for the square of the root."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import shadesmith as ti

N = 1 << 12
F1 = ti.types.ndarray(ti.f32, 1)


@ti.kernel
def sines(x: F1, z: F1, r: F1):
    for i in x:
        cosine = ti.sqrt((1 - x[i]) / (1 + z[i] * x[i]))
        r[i] = ti.sqrt(1 - cosine * cosine)


def test_a_sine_is_a_number(target: str) -> None:
    x = ((np.arange(N) + 0.5) / N).astype(np.float32)
    for z in (-1.0, -0.5):
        r = np.full(N, -1, np.float32)
        sines(x, np.full(N, z, np.float32), r)
        ti.sync()
        true = np.sqrt(1 - (1 - x.astype(np.float64)) / (1 + z * x.astype(np.float64)))
        np.testing.assert_allclose(r, true, rtol=1e-4, atol=1e-3)


def test_sources() -> None:
    x = np.zeros(4, np.float32)
    ti.init(arch=ti.vulkan, log_level=ti.ERROR)
    device = ti.Session.current().device
    device.capabilities = replace(device.capabilities, skips_roundings=True)
    source = sines.source(x, x, x)
    assert "sqrt(1.0 - square_of_root(cosine))" in source and "precise float square = x * x;" in source
    fields = [ti.field(ti.f32, 1 << 20) for _ in range(3)]

    @ti.kernel
    def wide():
        for i in fields[0]:
            cosine = ti.sqrt(fields[0][i] / fields[1][i])
            fields[2][i] = 1 - cosine * cosine

    source = wide.source()
    assert "= 1.0 - vec4_root_square(cosine);" in source and source.count("square_of_root(") > 1
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert not any("square_of_root" in sines.source(x, x, x, arch=arch) for arch in (ti.cuda, ti.cpu))
