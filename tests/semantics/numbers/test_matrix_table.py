"""Methods, operators, slices and swizzles of vectors and matrices, and `ti.math`: types and values are Taichi 1.7.4's.

tests/data/matrix_ops.json was recorded by tests/data/record_matrices.py, in kernels and in Python scope. Where Taichi is
wrong, what is right stands here by name; where it refuses, we may do better, and other tests say what.
"""

import itertools
import json
import linecache
import os
from pathlib import Path

import numpy as np
import pytest

import shadesmith as ti
import shadesmith.math as tm

ROWS = json.loads((Path(__file__).parents[2] / "data" / "matrix_ops.json").read_text())
ARGUMENTS = {
    "v": ("tm.vec3", [1.5, -2.0, 3.0]),
    "w": ("tm.vec3", [0.5, 4.0, -1.0]),
    "p": ("tm.vec2", [0.6, -0.8]),
    "q": ("tm.vec4", [1.0, 2.0, 3.0, 4.0]),
    "a": ("tm.ivec3", [7, -3, 2]),
    "b": ("tm.ivec3", [2, 5, 3]),
    "m": ("tm.mat3", [[2.0, -1.0, 0.5], [1.0, 3.0, -2.0], [0.25, 1.0, 4.0]]),
    "n": ("ti.types.matrix(2, 3, float)", [[1.0, 2.0, 3.0], [4.0, 5.0, 6.5]]),
    "g": ("ti.types.matrix(2, 2, int)", [[3, 1], [-2, 4]]),
    "f": ("tm.mat4", [[4.0, 1.0, 0.0, 2.0], [0.5, 3.0, 1.0, 0.0], [1.0, 0.0, 5.0, 1.0], [0.0, 2.0, 1.0, 6.0]]),
    "x": ("float", 2.5),
    "h": ("int", 3),
    "i": ("int", 1),
}
RIGHT_IN_KERNELS = {
    "r = (v>0).sum()": ["i32", [], [2]],  # Taichi adds truth values modulo 2
    "r = tm.ivec3(v)": ["i32", [3], [1, -2, 3]],  # Taichi leaves the type of the vector
    "r = ti.types.vector(3,int)(v)": ["i32", [3], [1, -2, 3]],
    "r = 2**a": ["i32", [3], [128, 0, 4]],  # Taichi takes the absolute value of a negative exponent
    "r = v[::-1]": ["f32", [3], [3, -2, 1.5]],  # Taichi gives no elements for negative steps
    "r = v[2:0:-1]": ["f32", [2], [3, -2]],
    "r = 2 << a": ["i32", [3], [256, 2 << 29, 8]],  # counts modulo the width; undefined in Taichi
    "r = g << g": ["i32", [2, 2], [24, 2, -(2**31), 64]],
    "r = g >> g": ["i32", [2, 2], [0, 0, -1, 0]],
}
RIGHT_IN_PYTHON = {
    "r = (v>0).sum()": ["i", [], [2]],
    "r = m[:,1]": ["f", [3], [-1, 3, 1]],  # Taichi's lists of rows cannot be cut in two axes
    "r = m[0:2,1]": ["f", [2], [-1, 3]],
    "r = m[0:2,0:2]": ["f", [2, 2], [2, -1, 1, 3]],
    "r = m[::2,1]": ["f", [2], [-1, 1]],
    "r = m[:,i]": ["f", [3], [-1, 3, 1]],
    "r = m[0:2,i]": ["f", [2], [-1, 3]],
    "r = m[1:,1:]": ["f", [2, 2], [3, -2, 1, 4]],
    "r = m + 0.0; r[:, 1] = w": ["f", [3, 3], [2, 0.5, 0.5, 1, 4, -2, 0.25, -1, 4]],
}
REFUSED_IN_PYTHON = {"r = ti.zero(v)", "r = ti.one(v)", "r = ti.zero(g)", "r = ti.one(m)", "r = 2**a"}
REFUSED_IN_PYTHON |= {"r = ti.bit_cast(v,ti.i32)", "r = v + 0.0; r.xy = 1.0"}
"""What Python scope refuses here too; the rest of what Taichi refuses there gives what a kernel gives."""
SIZE = 24 if os.environ.get("SHADESMITH_DEBUG", "0") == "0" else 6
"""Cases a kernel: a compiler's start costs more than they do; but lavapipe's time grows as the square of all checks."""

GIVEN = [(row["code"], RIGHT_IN_KERNELS.get(row["code"], row["kernel"])) for row in ROWS]
GIVEN = [(code, expected) for code, expected in GIVEN if expected[0] != "error"]
GROUPS = [GIVEN[k : k + SIZE] for k in range(0, len(GIVEN), SIZE)]


def arguments() -> dict:
    """Return the values that the names in a case stand for."""
    return {
        name: value if kind in ("float", "int") else ti.Matrix(value) if name in "mngf" else ti.Vector(value)
        for name, (kind, value) in ARGUMENTS.items()
    }


def lines_of(code: str, kind: str, shape: list[int], offset: int) -> list[str]:
    """Return the lines that run one case, check the type of its result, and store it from `offset` on."""
    lines = [f"    {line.strip()}" for line in code.split(";")]
    if hasattr(ti, kind):
        lines.append(f"    ti.static_assert(r.dtype == ti.{kind}, 'type')")
    for k, position in enumerate(itertools.product(*map(range, shape))):
        index = "".join(f"[{i}]" for i in position) if kind == "list" else f"[{', '.join(map(str, position))}]"
        lines.append(f"    out[{offset + k}] = ti.cast(r{index if shape else ''}, ti.f64)")
    return lines


def kernel_of(cases: list, name: str):
    """Return a kernel that runs all cases, and how many numbers it stores."""
    source = ["import shadesmith as ti", "import shadesmith.math as tm", "@ti.kernel"]
    listed = ", ".join(f"{argument}: {kind}" for argument, (kind, _) in ARGUMENTS.items())
    source += [f"def k({listed}, out: ti.types.ndarray()):", "    for _ in range(1):"]
    offset = 0
    for code, (kind, shape, values) in cases:
        source += ["        if ti.static(True):", *(f"        {line}" for line in lines_of(code, kind, shape, offset))]
        offset += len(values)
    text = "\n".join(source) + "\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict = {}
    exec(compile(text, name, "exec"), space)
    return space["k"], offset


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", range(len(GROUPS)))
def test_type_and_value_in_a_kernel(target: str, number: int) -> None:
    ti.init(arch=getattr(ti, target), enable_fallback=False, fast_math=False, log_level=ti.ERROR)
    cases = GROUPS[number]
    kernel, count = kernel_of(cases, f"/matrix_table_{number}.py")
    out = np.zeros(count)
    kernel(*arguments().values(), out)
    ti.sync()
    position = 0
    for code, (_, _, values) in cases:
        found = out[position : position + len(values)]
        position += len(values)
        assert np.allclose(found, values, rtol=1e-5, atol=2e-6, equal_nan=True), code


SOMEWHERE = [row for row in ROWS if row["kernel"][0] != "error" or row["python"][0] != "error"]
"""What Taichi does not refuse everywhere."""
TOGETHER = 50
"""Rows of a test: by itself a test takes as long as ten of them."""


@pytest.mark.parametrize("first", range(0, len(SOMEWHERE), TOGETHER))
def test_types_and_values_in_python_scope(first: int) -> None:
    for row in SOMEWHERE[first : first + TOGETHER]:
        try:
            check_in_python_scope(row)
        except Exception as error:
            raise AssertionError(row["code"]) from error


def check_in_python_scope(row: dict) -> None:
    expected = RIGHT_IN_PYTHON.get(row["code"], row["python"])
    space = {"ti": ti, "tm": tm, "np": np, **arguments()}
    text = "\n".join(line.strip() for line in row["code"].split(";"))
    if row["code"] in REFUSED_IN_PYTHON:
        with pytest.raises((AssertionError, TypeError, ValueError)):
            exec(text, space)
        return
    exec(text, space)
    found = np.array(getattr(space["r"], "to_numpy", lambda: space["r"])())
    if expected[0] == "error":  # Taichi refuses it in Python scope only: what a kernel gives
        expected = [found.dtype.kind, *RIGHT_IN_KERNELS.get(row["code"], row["kernel"])[1:]]
    assert [found.dtype.kind, list(found.shape)] == expected[:2]
    assert np.allclose(found.ravel().astype(float), expected[2], rtol=1e-6, atol=1e-6, equal_nan=True)
