from types import SimpleNamespace

import shadesmith as ti
from shadesmith.transpiler.lang.describe import ArrayDescription

total = SimpleNamespace(describe_array=lambda: ArrayDescription(ti.f32, (), "field", "total"))
counts = SimpleNamespace(describe_array=lambda: ArrayDescription(ti.i32, (16,), "field", "counts"))


def histogram(a: ti.types.ndarray(dtype=ti.f32, ndim=1), order: ti.types.ndarray(dtype=ti.i32, ndim=1)):
    for i in a:
        bucket = int(a[i] * 16)
        order[i] = ti.atomic_add(counts[bucket], 1)
        total[None] += a[i]


kernel, arguments = histogram, ((ti.f32, 1), (ti.i32, 1))
