"""Comments of the argument block show offsets on request."""

from __future__ import annotations

import re

import numpy as np
import pytest

import shadesmith as ti


@pytest.mark.targets("cpu", "vulkan", "cuda")
def test_offsets_of_arguments_on_request(target: str) -> None:
    if target == "python":
        return
    ti.init(arch=getattr(ti, target), argument_offsets=True)

    @ti.kernel
    def scale(a: ti.f64, b: ti.math.vec3, c: ti.i8, x: ti.types.ndarray(ti.f32, 1)):
        for i in x:
            x[i] += a * b[0] + c

    x = np.ones(4, np.float32)
    module = scale.compile(2.0, [1, 2, 3], 1, x)
    shown = dict(re.findall(r"(\w+)\[?\d?\]?;\s+// .*, at byte (\d+)", module.source()))
    first = {m.name.partition("[")[0]: m.offset_bytes for m in reversed(module.interface.members)}
    assert shown == {name: str(offset) for name, offset in first.items()} and len(shown) >= 4
    scale(2.0, [1, 2, 3], 1, x)
    assert x[0] == 4
