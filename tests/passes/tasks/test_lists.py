"""Pass `offload`: lists of a kernel that its tasks read; each task makes them again from the items."""

from __future__ import annotations

import numpy as np

import shadesmith as ti


def test_lists_of_numbers_and_vectors_cross_tasks(target: str) -> None:
    """Their items take long, so that threads do not compute them again."""
    x, y, source = ti.field(ti.f32, 5), ti.field(ti.f32, 4), ti.Vector.field(3, ti.f32, 2)
    given = np.array([[0.5, 1.5, -2.0], [1, 2, 3]], np.float32)
    source.from_numpy(given)

    @ti.kernel
    def run():
        a, b = source[0], source[1]
        vectors = [ti.sin(a), ti.exp(b), a / 3.0]
        numbers = [ti.sqrt(b.y), ti.cos(a.x), 2.0]
        for i in x:
            for k in ti.static(range(3)):
                x[i] += vectors[k][0]
        for i in y:
            for k in ti.static(range(3)):
                y[i] += numbers[k]

    run()
    a, b = given.astype(float)
    vectors, numbers = [np.sin(a), np.exp(b), a / 3], [np.sqrt(b[1]), np.cos(a[0]), 2.0]
    np.testing.assert_allclose(x.to_numpy(), sum(v[0] for v in vectors), rtol=1e-5)
    np.testing.assert_allclose(y.to_numpy(), [sum(numbers)] * 4, rtol=1e-5)
