"""Pass `normal_numbers`: CUDA C takes the short instruction where a number cannot be subnormal, and no bit of a root changes;
roots and lengths in loops take it always."""

from __future__ import annotations

import numpy as np
import pytest
import written_programs

import shadesmith as ti

NORMAL = {
    "softened square": "x * x + 1e-4",
    "softening first": "1e-4 + x * x",
    "two squares": "x * x + (x - 1.0) * (x - 1.0) + 1e-6",
    "dot": "v.dot(v) + 1e-4",
    "maximum": "ti.max(x, 1e-4)",
    "absolute": "abs(x) + 1e-30",
}
OTHERS = {
    "plain": "x",
    "square": "x * x",
    "negative": "x + 1e-4",
    "product of two": "x * v.y + 1e-4",
    "subnormal": "x * x + 1e-39",
    "difference": "x * x - 1e-4",
    "minimum": "ti.min(x, 1e-4)",
}


def make(tmp_path, expression: str, type: str = "f32"):
    program = written_programs.write(
        tmp_path / "program.py",
        "@ti.kernel\n"
        f"def root(a: ti.types.ndarray(ti.{type}, 1), r: ti.types.ndarray(ti.{type}, 1)):\n"
        "    for i in a:\n"
        "        x = a[i]\n"
        "        v = ti.Vector([x, x + 1.0])\n"
        f"        r[i] = ti.rsqrt({expression})\n",
    )
    return program.root


def source(kernel, type=ti.f32, arch=ti.cuda) -> str:
    return kernel.source(ti.ndarray(type, 3), ti.ndarray(type, 3), arch=arch)


@pytest.mark.parametrize("expression", NORMAL.values(), ids=NORMAL)
def test_normal_numbers(expression, tmp_path):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    kernel = make(tmp_path, expression)
    assert "rsqrt.approx.ftz.f32" in source(kernel)
    assert "normal_rsqrt" not in source(kernel, arch=ti.vulkan) and "normal_rsqrt" not in source(kernel, arch=ti.cpu)


@pytest.mark.parametrize("expression", OTHERS.values(), ids=OTHERS)
def test_other_numbers(expression, tmp_path):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "normal_rsqrt" not in source(make(tmp_path, expression))


def test_other_types_and_switch(tmp_path):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "normal_rsqrt" not in source(make(tmp_path, NORMAL["softened square"], "f64"), ti.f64)
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-normal_numbers")
    assert "normal_rsqrt" not in source(make(tmp_path, NORMAL["softened square"]))


@pytest.mark.all_targets
def test_bits(target, tmp_path):
    values = np.array([0, -0.0, 1e-40, -1e-20, 1e-4, 0.5, 2, 1e18, 1e30, np.inf, -np.inf, np.nan], np.float32)
    found = []
    for passes in ("", "-normal_numbers"):
        ti.init(arch=getattr(ti, {"c": "cpu"}.get(target, target)), log_level=ti.ERROR, passes=passes)
        a, r = ti.ndarray(ti.f32, len(values)), ti.ndarray(ti.f32, len(values))
        a.from_numpy(values)
        make(tmp_path, NORMAL["softened square"])(a, r)
        found.append(r.to_numpy())
    assert np.array_equal(found[0].view(np.int32)[:-1], found[1].view(np.int32)[:-1]) and np.isnan(found[0][-1])


def roots(tmp_path, fast_math: bool = True):
    program = written_programs.write(
        tmp_path / "roots.py",
        f"@ti.kernel(fast_math={fast_math})\n"
        "def roots(a: ti.types.ndarray(ti.f32, 1), r: ti.types.ndarray(ti.f32, 1)):\n"
        "    for i in a:\n"
        "        w = ti.Vector([a[i], a[i] * 0.5, 1.0])\n"
        "        v = w\n"
        "        r2 = w.dot(w) + 1e-4\n"
        "        for _ in range(2):\n"
        "            v = v / (r2 * ti.sqrt(r2)) + v / a[i]\n"
        "        r[i] = v.x + 1.0 / (a[i] * a[i] + 1e-39) + ti.sqrt(a[i])\n",
    )
    return program.roots


def test_roots_and_reciprocals(tmp_path):
    ti.init(arch=ti.python, log_level=ti.ERROR)
    assert "normal_rsqrt_f32(r2)" in source(roots(tmp_path))
    ti.init(arch=ti.python, log_level=ti.ERROR, passes="-inverse_roots")
    text = source(roots(tmp_path))
    assert "normal_reciprocal_f32(r2 * normal_sqrt_f32(r2))" in text and "normal_reciprocal_f32(a_i)" in text
    assert "1e-39f) + sqrtf(" in text and text.count("normal_reciprocal_f32(") == 3
    assert "normal_" not in source(roots(tmp_path, fast_math=False))


def test_values_of_roots(target, tmp_path):
    values = np.array([1e-15, 1e-4, 0.5, 2, 1e3, 1e9], np.float32)
    a, r = ti.ndarray(ti.f32, len(values)), ti.ndarray(ti.f32, len(values))
    a.from_numpy(values)
    roots(tmp_path)(a, r)
    x = values.astype(np.float64)
    v, r2 = np.stack([x, x * 0.5, np.ones(len(x))]), x * x * 1.25 + 1 + 1e-4
    for _ in range(2):
        v = v / (r2 * np.sqrt(r2)) + v / x
    np.testing.assert_allclose(r.to_numpy(), v[0] + 1 / (x * x + 1e-39) + np.sqrt(x), rtol=3e-6)


def lengths(tmp_path, fast_math: bool = True):
    program = written_programs.write(
        tmp_path / "lengths.py",
        f"@ti.kernel(fast_math={fast_math})\n"
        "def lengths(a: ti.types.ndarray(ti.f32, 1), r: ti.types.ndarray(ti.f32, 1), n: ti.i32):\n"
        "    for i in a:\n"
        "        v = ti.Vector([a[i], 2.0 * a[i], -a[i]])\n"
        "        s = v.norm()\n"
        "        for k in range(n):\n"
        "            s += (v * k).norm() + ti.sqrt(abs(a[i])) * k + v.normalized().y\n"
        "        r[i] = s\n",
    )
    return program.lengths


def test_lengths_and_directions(target, tmp_path):
    values = np.array([1e-15, -1e-4, 0.5, -2, 1e3, 1e15], np.float32)
    a, r = ti.ndarray(ti.f32, len(values)), ti.ndarray(ti.f32, len(values))
    a.from_numpy(values)
    kernel = lengths(tmp_path)
    kernel(a, r, 5)
    x = values.astype(np.float64)
    expected = np.abs(x) * np.sqrt(6) * 11 + np.sqrt(np.abs(x)) * 10 + 5 * 2 / np.sqrt(6) * np.sign(x)
    np.testing.assert_allclose(r.to_numpy(), expected, rtol=1e-5)
    text = kernel.source(a, r, 5, arch=ti.cuda)
    assert "float length(vec3 a) { return normal_sqrt_f32(" in text.replace("\n    ", " ").replace(")\n", ") ")
    assert "normal_sqrt_f32(fabsf(a_i))" in text and "return a * rsqrtf(dot(a, a));" in text
    exact = lengths(tmp_path, fast_math=False).source(a, r, 5, arch=ti.cuda)
    assert "normal_" not in exact and "return a / length(a);" in exact
