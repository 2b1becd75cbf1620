"""The SPIR-V that lavapipe gets: valid, and right where a block does not fill its last subgroup."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import golden_kernels
import numpy as np
import pytest

import shadesmith as ti
from shadesmith.runtime.devices.vulkan.glslang import Glslang
from shadesmith.runtime.devices.vulkan.lavapipe.code import for_lavapipe
from shadesmith.runtime.devices.vulkan.spirv import reflect

KERNELS = [name for name in golden_kernels.KERNELS if name not in golden_kernels.RECURSIVE]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", KERNELS)
def test_changed_code_is_valid(name: str, tmp_path: Path) -> None:
    if shutil.which("glslangValidator") is None or shutil.which("spirv-val") is None:
        pytest.skip("no glslangValidator or no spirv-val")
    module = golden_kernels.compiled(name, "vulkan")
    for file in module.files:
        code = Glslang().compile(file, module.kernel)
        changed = for_lavapipe(code, 1)
        before, after = reflect(code), reflect(changed)
        assert before.push_constants == after.push_constants and before.entries[0].name == after.entries[0].name
        assert before.entries[0].local_size == after.entries[0].local_size
        (tmp_path / "module.spv").write_bytes(changed)
        command = ["spirv-val", "--target-env", "vulkan1.2", "--scalar-block-layout", str(tmp_path / "module.spv")]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr


def test_code_that_is_no_spirv_is_left_alone() -> None:
    assert for_lavapipe(b"", 1) == b""
    assert for_lavapipe(b"\1\2\3\4" * 8, 1) == b"\1\2\3\4" * 8


@pytest.mark.parametrize("block_dim", [1, 4, 12, 100])
def test_loops_between_barriers_of_small_blocks(target: str, block_dim: int) -> None:
    @ti.kernel
    def rotate(x: ti.types.ndarray(ti.i32, 1), n: ti.types.ndarray(ti.i32, 1)):
        ti.loop_config(block_dim=block_dim)
        for i in x:
            tile = ti.simt.block.SharedArray((block_dim,), ti.i32)
            thread = i % block_dim
            s = 0
            while s < n[0]:
                s += 1
            tile[thread] = s + i
            ti.simt.block.sync()
            y = tile[(thread + 1) % block_dim]
            ti.simt.block.sync()
            while s < n[1]:
                s += 1
            x[i] = y + s

    x, n = ti.ndarray(ti.i32, 2 * block_dim), ti.ndarray(ti.i32, 2)
    n.from_numpy(np.array([50, 90], np.int32))
    rotate(x, n)
    thread = np.arange(2 * block_dim)
    neighbour = thread // block_dim * block_dim + (thread + 1) % block_dim
    np.testing.assert_array_equal(x.to_numpy(), neighbour + 50 + 90)


LEFT = {
    "break": ["if a > 4.0: break"],
    "two breaks": ["if a > 9.0: break", "if a > 4.0: break"],
    "break of an inner loop": ["for k in range(3):", "    a *= 1.1", "    if a > 3.0: break", "if a > 4.0: break"],
    "continue": ["if a < 2.0:", "    a += y[i]", "    continue", "if a > 4.0: break"],
    "inner endless loop": ["while True:", "    a += y[i]", "    if a > 2.0 + y[i]: break", "    a *= 1.2", "if a > 4.0: break"],
}  # fmt: skip
"""How threads leave an endless loop in its middle, each in an iteration of its own."""


@pytest.mark.parametrize("name", LEFT)
def test_endless_loops_are_left_in_their_middle(target: str, name: str, define_kernel: Any) -> None:
    x, y, o = (ti.field(ti.f32, 37) for _ in range(3))
    start, growth = np.linspace(0.5, 1.2, 37, dtype=np.float32), np.linspace(0.3, 0.9, 37, dtype=np.float32)
    x.from_numpy(start)
    y.from_numpy(growth)
    loop = ["while True:", *(f"    {line}" for line in ("a *= 1.0 + y[i]", *LEFT[name], "a += 0.3 * a"))]
    body = [f"        {line}" for line in ("a = x[i]", *loop, "o[i] = a")]
    define_kernel("\n".join(["def leave():", "    for i in x:", *body, ""]), x=x, y=y, o=o)()
    expected = np.zeros(37)
    exec("\n".join(["for i in range(37):", *(line[4:] for line in body)]), {"x": start, "y": growth, "o": expected})
    np.testing.assert_allclose(o.to_numpy(), expected, rtol=1e-5)


CONDITIONS = ["0 == w", "w == 0", "w < 1", "1 > w", "w != 1", "w == 2", "w >= 3", "w == 7", "w == 0 or x[i] > 5"]


WAYS = {
    "break": ["if C:", "    break"],
    "after a branch": ["if C:", "    if x[i] > 3:", "        t += 5", "    break"],
    "after a loop": ["if C:", "    for q in range(x[i] % 3):", "        t += 5", "    break"],
    "in else": ["if not (C):", "    t += 7", "else:", "    t += 1", "    break"],
    "in elif": ["if x[i] > 100:", "    t += 1", "elif C:", "    break"],
    "in a branch": ["if x[i] >= 0:", "    if C:", "        break", "    t += 2"],
    "return": ["if C:", "    return t * 7"],
    "return after a branch": ["if C:", "    if x[i] > 3:", "        t += 5", "    return t * 7"],
    "return in else": ["if C:", "    t += 1", "else:", "    return t"],
}
"""How a loop is left in its middle under the condition C."""


@pytest.mark.sampled(5, each="condition")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_conditions_in_the_middle_of_a_loop_see_its_variables(
    target: str, way: str, condition: str, define_program: Any
) -> None:
    """lavapipe evaluated some of them with what the variable was before the loop."""
    x, o = ti.field(ti.i32, 11), ti.field(ti.i32, 11)
    x.from_numpy(np.arange(11, dtype=np.int32))
    lines = [line.replace("C", condition) for line in WAYS[way]]
    loop = ["t = x[i]", "w = 0", "while w < 3:", "    w += 1", *(f"    {line}" for line in (*lines, "t += 10 + w"))]
    function = ["def left(i):", *(f"    {line}" for line in (*loop, "return t * 100 + w"))]
    kernel = ["def leave():", "    for i in range(11):", "        o[i] = left(i)"]
    define_program("\n".join(["@ti.func", *function, "@ti.kernel", *kernel, ""]), x=x, o=o)["leave"]()
    expected = np.zeros(11, np.int32)
    exec("\n".join([*function, *kernel, "leave()"]), {"x": np.arange(11), "o": expected})
    np.testing.assert_array_equal(o.to_numpy(), expected)


ELEMENTS = {
    "a multiple and the next": ["p[k] = 3.0 * p[k] + p[k + 1]"],
    "an exponential and the next": ["p[k] = exp(p[k]) + p[k + 1]"],
    "quotients": ["p[k] = sqrt(p[k]) / (1.0 + p[k + 1] * p[k + 1])"],
    "two arrays": ["q[k] = w + p[k]", "p[k + 1] = w - p[k + 1]", "if p[k] > 0.3:", "    w = w * w * p[k]"],
    "a row of a matrix": ["if k == 0:", "    w = a[c[i], c[i]]", "if k >= c[i]:", "    a[c[i], k] /= w"],
}
"""What loops do with elements of local arrays at computed indices."""


@pytest.mark.parametrize("size", [12, 33, 64])
@pytest.mark.parametrize("name", ELEMENTS)
def test_elements_of_local_arrays(target: str, name: str, size: int, define_kernel: Any) -> None:
    """lavapipe took some for others, and lost stores."""
    threads, m = 9, 5
    x, y, c, count = (
        ti.field(ti.f32, (threads, m + 1)),
        ti.field(ti.f32, threads),
        ti.field(ti.i32, threads),
        ti.field(ti.i32, ()),
    )
    given = np.random.default_rng(0).random((threads, m + 1), dtype=np.float32)
    x.from_numpy(given)
    c.from_numpy(np.arange(threads, dtype=np.int32) % m)
    count[None] = m
    lines = [
        "w = 0.5",
        "for k in range(m + 1):", "    p[k] = x[i, k]", "    for h in range(m + 1):", "        a[k, h] = x[i, h] + k",
        "for k in range(m):", *(f"    {line}" for line in ELEMENTS[name]),
        "s = w",
        "for k in range(m + 1):", "    s += p[k] * (k + 1) + q[k] + a[k, k]", "    s += 2 * a[c[i], k]",
        "y[i] = s",
    ]  # fmt: skip
    own = [
        f"p, q = ti.Vector([0.0] * {size}), ti.Vector([0.0] * {size})",
        f"a = ti.Matrix([[0.0] * {m + 1}] * {m + 1})",
        "m = count[None]",
    ]
    body = [f"        {line}" for line in (*own, *lines)]
    functions = {"exp": ti.exp, "sqrt": ti.sqrt}
    define_kernel("\n".join(["def run():", "    for i in y:", *body, ""]), x=x, y=y, c=c, count=count, **functions)()
    expected = np.zeros(threads)
    own = ["p, q, a = np.zeros(64), np.zeros(64), np.zeros((6, 6))"]
    body = [f"    {line}" for line in (*own, *lines)]
    names = {"x": given.astype(float), "y": expected, "c": np.arange(threads) % m, "m": m, "np": np}
    exec("\n".join([f"for i in range({threads}):", *body]), {**names, "exp": np.exp, "sqrt": np.sqrt})
    np.testing.assert_allclose(y.to_numpy(), expected, rtol=1e-4)
