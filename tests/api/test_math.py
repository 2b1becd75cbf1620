"""`ti.math` in Python scope and in a kernel; expected values are what Taichi 1.7.4 prints in a kernel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

VALUES = [
    ("tm.mix(1.0, 2.0, 0.5)", 1.5),
    ("tm.mix(vec2(1, 2), vec2(3, 4), 0.25)", [1.5, 2.5]),
    ("tm.clamp(5, 0, 1)", 1),
    ("tm.clamp(vec2(-1, 5), 0, 1)", [0, 1]),
    ("tm.step(1.0, 2.0)", 1),
    ("tm.step(1, vec2(0.5, 3))", [0, 1]),
    ("tm.smoothstep(0.0, 1.0, 0.3)", 0.216),
    ("tm.fract(-1.7)", 0.3),
    ("tm.sign(-3)", -1.0),
    ("tm.degrees(1.0)", 57.29578),
    ("tm.radians(180)", 3.141593),
    ("tm.mod(-7, 3)", 2),
    ("tm.log2(8.0)", 3),
    ("tm.reflect(vec2(1, -1), vec2(0, 1))", [1, 1]),
    ("tm.refract(vec2(0.6, -0.8), vec2(0, 1), 0.5)", [0.3, -0.953939]),
    ("tm.refract(vec2(0.6, -0.8), vec2(0, 1), 2.5)", [0, 0]),
    ("tm.distance(vec2(1, 2), vec2(4, 6))", 5),
    ("tm.cross(vec3(1, 2, 3), vec3(4, 5, 7))", [-1, 5, -3]),
    ("tm.length(vec3(1, 2, 2))", 3),
    ("tm.dot(vec2(1, 2), vec2(3, 4))", 11),
    ("tm.normalize(vec3(1, 2, 2))", [0.333333, 0.666667, 0.666667]),
    ("tm.isnan(vec2(tm.nan, 1))", [1, 0]),
    ("tm.vdir(0.5)", [0.877583, 0.479426]),
    ("tm.eye(2)", [[1, 0], [0, 1]]),
    ("tm.inverse(tm.mat2(1, 2, 3, 4))", [[-2, 1], [1.5, -0.5]]),
    ("tm.determinant(tm.mat2(1, 2, 3, 4))", -2),
    ("tm.cmul(vec2(1, 2), vec2(3, 4))", [-5, 10]),
    ("tm.cdiv(vec2(1, 2), vec2(3, 4))", [0.44, 0.08]),
    ("tm.cpow(vec2(1, 2), 0.5)", [1.27202, 0.786151]),
    ("tm.cpow(vec2(0, 0), 2)", [0, 0]),
    ("tm.clog(vec2(1, 2))", [0.804719, 1.107149]),
    ("tm.cexp(vec2(1, 2))", [-1.131204, 2.471727]),
    ("tm.csqrt(vec2(1, 2))", [1.27202, 0.786151]),
    ("tm.csqrt(vec2(-1, 0))", [0, 1]),
    ("tm.cinv(vec2(1, 2))", [0.2, -0.4]),
    ("tm.cconj(vec2(1, 2))", [1, -2]),
    ("tm.rotation2d(0.5)", [[0.877583, -0.479426], [0.479426, 0.877583]]),
    ("tm.translate(1, 2, 3)", [[1, 0, 0, 1], [0, 1, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]),
    ("tm.scale(1, 2, 3)", [[1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0], [0, 0, 0, 1]]),
    (
        "tm.rotation3d(0.1, 0.2, 0.3)",
        [
            [0.942155, 0.197677, -0.270682, 0],
            [-0.160881, 0.97517, 0.152184, 0],
            [0.294044, -0.099833, 0.950564, 0],
            [0, 0, 0, 1],
        ],
    ),
    (
        "tm.rot_by_axis(vec3(0.36, 0.48, 0.8), 0.5)",
        [
            [0.893448, 0.404694, -0.194868, 0],
            [-0.362387, 0.905788, 0.219602, 0],
            [0.265381, -0.125585, 0.95593, 0],
            [0, 0, 0, 1],
        ],
    ),
    (
        "tm.rot_yaw_pitch_roll(0.1, 0.2, 0.3)",
        [
            [0.956425, 0.289629, -0.036957, 0],
            [-0.275096, 0.936293, 0.218351, 0],
            [0.097843, -0.198669, 0.97517, 0],
            [0, 0, 0, 1],
        ],
    ),
]


@pytest.mark.parametrize(("text", "expected"), VALUES)
def test_value_in_python_scope(text, expected) -> None:
    found = eval(text, {"tm": tm, "vec2": tm.vec2, "vec3": tm.vec3})
    assert np.allclose(np.array(found, dtype=float), expected, atol=2e-6)


def kernel_of_all(out: ti.Field, directory: Path) -> Any:
    """Return a kernel that writes every expression's components to `out`, one after the other."""
    lines = ["import shadesmith as ti", "import shadesmith.math as tm", "from shadesmith.math import vec2, vec3"]
    lines += ["", "@ti.kernel", "def all_values():"]
    offset = 0
    for number, (text, expected) in enumerate(VALUES):
        lines.append(f"    r{number} = {text}")
        shape = np.shape(expected)
        for index in np.ndindex(shape):
            element = f"r{number}[{', '.join(map(str, index))}]" if shape else f"r{number}"
            lines.append(f"    out[{offset}] = {element}")
            offset += 1
    file = directory / "all_values.py"
    file.write_text("\n".join(lines) + "\n")
    namespace: dict[str, Any] = {"out": out, "__name__": "all_values"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    return namespace["all_values"]


def test_values_in_a_kernel(target, tmp_path) -> None:
    expected = np.concatenate([np.ravel(value).astype(float) for _, value in VALUES])
    out = ti.field(ti.f32, len(expected))
    kernel_of_all(out, tmp_path)()
    assert np.allclose(out.to_numpy(), expected, atol=5e-6)


def test_constants() -> None:
    assert (tm.pi, tm.e, tm.inf) == (math.pi, math.e, math.inf)
    assert math.isnan(tm.nan)


def test_types() -> None:
    assert (tm.vec4.n, tm.mat3.n, tm.mat3.m) == (4, 3, 3)
    assert str(tm.vec3.dtype) == "f32" and str(tm.ivec2.dtype) == "i32" and str(tm.uvec2.dtype) == "u32"
