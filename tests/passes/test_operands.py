"""Every kind of loop that a pass rewrites compiles with operands of every kind in it, an element of no axes, say.

Two passes asked such an element for its first index: the gradient of forces with `G[None]`, and rows that divide by a
field's only element under a condition, were an IndexError.
"""

from __future__ import annotations

import runpy
from itertools import product
from pathlib import Path

import pytest

import shadesmith as ti

PROGRAM = """
import shadesmith as ti

n, m = 4096, 1024
Item = ti.types.struct(a=ti.f32, b=ti.math.vec2)
x, y, z = (ti.field(ti.f32, n, needs_grad=True) for _ in range(3))
A, B, C = (ti.field(ti.f32, (m, m), needs_grad=True) for _ in range(3))
starts, number, counts, sums = ti.field(ti.i32, n + 1), ti.field(ti.i32, n), ti.field(ti.i32, 256), ti.field(ti.f32, 256)
p, items = ti.Vector.field(3, ti.f32, n, needs_grad=True), Item.field(shape=n)
loss = ti.field(ti.f32, (), needs_grad=True)
scale, count, precise = ti.field(ti.f32, (), needs_grad=True), ti.field(ti.i32, ()), ti.field(ti.f64, ())
vector, matrix, item = ti.Vector.field(3, ti.f32, ()), ti.Matrix.field(2, 2, ti.f32, ()), Item.field(shape=())
few, one = ti.field(ti.f32, 8), ti.field(ti.f32, 1)


@ti.kernel
def kernel(w: ti.f32, array: ti.types.ndarray(ti.f32, 0)):
"""
OPERANDS = {
    "field": "scale[None]",
    "integer": "ti.cast(count[None], ti.f32)",
    "f64": "ti.cast(precise[None], ti.f32)",
    "vector": "vector[None][1]",
    "norm": "vector[None].norm()",
    "matrix": "matrix[None][0, 1]",
    "member": "item[None].a",
    "member's vector": "item[None].b[1]",
    "element": "one[0]",
    "read element": "few[count[None] & 7]",
    "argument": "w",
    "ndarray": "array[None]",
    "selection": "(scale[None] if scale[None] > 0 else 1.0)",
    "addition": "ti.atomic_add(sums[3], 0.5)",
    "addition to a field": "ti.atomic_add(precise[None], 0.5)",
}
LOOPS = {
    "pairs": """
        for i in x:
            s = 0.0
            for j in range(n):
                if i != j:
                    s += (x[i] - x[j]) ** 2 / OPERAND
            y[i] = s
    """,
    "pairs of vectors": """
        for i in p:
            s = ti.math.vec3(0.0)
            for j in range(n):
                d = p[i] - p[j]
                s += d * OPERAND / (d.norm() + 0.1)
            p[i] = s
    """,
    "loss of pairs": """
        for i in x:
            s = 0.0
            for j in range(n):
                s += (x[i] - x[j]) ** 2 * OPERAND
            loss[None] += s
    """,
    "product": """
        for i, j in C:
            s = OPERAND
            for k in range(m):
                s += A[i, k] * B[k, j] / OPERAND
            C[i, j] = s * OPERAND
    """,
    "rows": """
        for i in range(m):
            s = 0.0
            for j in range(m):
                if i == j:
                    continue
                s += (A[i, j] - 0.1 / OPERAND) * A[i, j]
            y[i] = s
    """,
    "softmax": """
        for i in range(m):
            most, s = OPERAND, 0.0
            for j in range(m):
                most = ti.max(most, A[i, j])
            for j in range(m):
                s += ti.exp(A[i, j] - most)
            for j in range(m):
                B[i, j] = ti.exp(A[i, j] - most) / s * OPERAND
    """,
    "columns": """
        for j in range(m):
            s = 0.0
            for i in range(m):
                if A[i, j] > 0:
                    s += A[i, j] * OPERAND
            y[j] = s
    """,
    "sparse rows": """
        for i in range(n):
            s = 0.0
            for k in range(starts[i], starts[i + 1]):
                if number[k] != i:
                    s += x[k] * y[number[k]] * OPERAND
            z[i] = s
    """,
    "sums along axes": """
        for i, j in A:
            y[i] += A[i, j] * OPERAND
            z[j] += A[i, j]
    """,
    "scan": """
        s = 0.0
        for i in range(n):
            y[i] = s
            s += x[i] * OPERAND
    """,
    "scan in place": """
        for i in range(1, n):
            x[i] += x[i - 1] * OPERAND
    """,
    "selected": """
        s = 0
        for i in range(n):
            if x[i] > OPERAND:
                number[s] = i
                s += 1
    """,
    "elements": """
        for i, j in A:
            B[i, j] = A[i, j] * OPERAND + 1.0
    """,
    "stencil": """
        for i, j in A:
            if 0 < i < m - 1 and 0 < j < m - 1:
                B[i, j] = (A[i - 1, j] + A[i + 1, j] + A[i, j - 1] + A[i, j + 1]) * OPERAND
    """,
    "window": """
        for i, j in A:
            s = 0.0
            for k, l in ti.ndrange((-2, 3), (-2, 3)):
                if 0 <= i + k < m and 0 <= j + l < m:
                    s += A[i + k, j + l] * OPERAND
            B[i, j] = s
    """,
    "transposed": """
        for i, j in A:
            B[j, i] = A[i, j] * OPERAND
    """,
    "histogram": """
        for i in x:
            counts[ti.cast(x[i] * OPERAND, ti.i32) & 255] += 1
            sums[number[i] & 255] += x[i] * OPERAND
    """,
    "sum": """
        for i in x:
            loss[None] += x[i] * OPERAND
    """,
    "structs": """
        for i in items:
            items[i].a += OPERAND
            items[i].b *= OPERAND
    """,
    "long iterations": """
        for i in range(n):
            s = x[i]
            for k in range(100):
                s = ti.sin(s) * OPERAND
            y[i] = s
    """,
    "carried": """
        for j in range(m):
            for i in range(1, m):
                A[i, j] = B[i, j] - OPERAND * A[i - 1, j]
    """,
    "march": """
        for i in x:
            t, hit = 0.0, False
            for k in range(64):
                d = x[i] * t - OPERAND
                if d < 0.01:
                    hit = True
                    break
                t += d
            if hit:
                for k in range(16):
                    t += ti.sin(t)
            y[i] = t
    """,
}
WITH_GRADIENTS = ("loss of pairs", "rows", "sparse rows", "stencil", "sum")


@pytest.mark.sampled(2, each="loop")
@pytest.mark.parametrize("arch", ["cuda", "vulkan"])
@pytest.mark.parametrize("loop", LOOPS)
def test_loops_compile_with_any_operand(loop: str, arch: str, full: bool, tmp_path: Path) -> None:
    ti.init(arch=ti.python, log_level=ti.ERROR)
    several = ("field", "vector", "member's vector", "read element", "ndarray", "selection")
    operands = OPERANDS.values() if full else [" * ".join(OPERANDS[kind] for kind in several)]
    for number, (operand, is_gradient) in enumerate(product(operands, (False, True))):
        if is_gradient and (loop not in WITH_GRADIENTS or "atomic" in operand):
            continue
        file = tmp_path / f"operand_{number}.py"
        file.write_text(PROGRAM + LOOPS[loop].replace("OPERAND", operand))
        kernel = runpy.run_path(str(file))["kernel"]
        text = (kernel.grad if is_gradient else kernel).source(0.5, ti.ndarray(ti.f32, ()), arch=getattr(ti, arch))
        assert "kernel" in text
